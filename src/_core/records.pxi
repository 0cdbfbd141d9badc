# Records of a file, as SQLite's Python module hands them over: tuples of None, int, float, str and bytes.
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.ref cimport PyObject
from libc.string cimport memcpy as _memcpy

cdef extern from "Python.h":
    PyObject* PySequence_Fast_GET_ITEM(object, Py_ssize_t)
    Py_ssize_t PySequence_Fast_GET_SIZE(object)

cdef extern from "digest.hpp" namespace "poincare" nogil:
    uint64_t c_digest_word "poincare::digest_word"(uint64_t, uint64_t)
    uint64_t c_digest_bytes "poincare::digest_bytes"(uint64_t, const unsigned char*, size_t)

# Lowest three bits of the word that comes before a value's bytes; the others hold their number.
cdef enum:
    kNothing = 0
    kText = 1
    kBlob = 2
    kInteger = 3
    kReal = 4

cdef uint64_t kSeed = 0x243f6a8885a308d3  # any number but 0, which a leading None would leave as it is


cdef uint64_t _digest_bytes(uint64_t before, int kind, const void* data, Py_ssize_t size):
    cdef uint64_t digest = c_digest_word(before, (<uint64_t>size << 3) | <uint64_t>kind)
    return c_digest_bytes(digest, <const unsigned char*>data, <size_t>size)


cdef uint64_t _digest_value(uint64_t before, object value) except? 0:
    cdef Py_buffer buffer
    cdef Py_ssize_t size = 0
    cdef const char* text
    cdef int64_t integer
    cdef double real
    cdef uint64_t word
    if value is None:
        return c_digest_word(before, kNothing)
    if isinstance(value, str):
        if PyUnicode_IS_COMPACT_ASCII(value):
            text = PyUnicode_AsUTF8AndSize(value, &size)
            return _digest_bytes(before, kText, text, size)
        value = (<str>value).encode("utf-8", "surrogatepass")  # the function above would keep these bytes for good
        return _digest_bytes(before, kText, <const char*>(<bytes>value), len(<bytes>value))
    if isinstance(value, int):
        integer = value
        return c_digest_word(c_digest_word(before, kInteger), <uint64_t>integer)
    if isinstance(value, float):
        real = value
        _memcpy(&word, &real, sizeof(word))
        return c_digest_word(c_digest_word(before, kReal), word)
    PyObject_GetBuffer(value, &buffer, PyBUF_SIMPLE)
    cdef uint64_t digest = _digest_bytes(before, kBlob, buffer.buf, buffer.len)
    PyBuffer_Release(&buffer)
    return digest


def record_digests(columns, int64_t[::1] out):
    """out[i] = digest of the i-th value of every column; None after the last other value counts for nothing."""
    cdef list fixed = [column if isinstance(column, (list, tuple)) else list(column) for column in columns]
    cdef Py_ssize_t i, j, last, width = len(fixed), n = out.shape[0]
    cdef uint64_t digest
    for column in fixed:
        if PySequence_Fast_GET_SIZE(column) != n:
            raise ValueError(f"columns: expected {n} values each, got {len(column)}")
    for i in range(n):
        last = width
        while last > 0 and <object>PySequence_Fast_GET_ITEM(fixed[last - 1], i) is None:
            last -= 1
        digest = kSeed
        for j in range(last):
            digest = _digest_value(digest, <object>PySequence_Fast_GET_ITEM(fixed[j], i))
        out[i] = <int64_t>digest


def take_rows(rows, Py_ssize_t most, int64_t room):
    """The next rows, up to `most`, and the length of all texts and blobs in them; ends once that is above `room`."""
    cdef list taken = []
    cdef int64_t length = 0
    cdef Py_ssize_t i
    cdef tuple row
    if most <= 0:
        return taken, 0
    for row in rows:
        taken.append(row)
        for i in range(len(row)):
            value = row[i]
            if isinstance(value, str):
                length += len(<str>value)
            elif isinstance(value, bytes):
                length += len(<bytes>value)
        if length > room or len(taken) == most:
            break
    return taken, length
