# Records of a file, as SQLite's Python module hands them over: tuples of None, int, float, str and bytes.
from cpython.ref cimport PyObject
from libc.string cimport memcpy as _memcpy

from libc.math cimport INFINITY as kInfinity

cdef extern from "rows.hpp" namespace "poincare" nogil:
    double c_dot "poincare::dot"(const double*, const double*, size_t)

cdef extern from "Python.h":
    bint PyByteArray_Check(object)
    char* PyByteArray_AS_STRING(object)
    Py_ssize_t PyByteArray_GET_SIZE(object)
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


def digests_match(list noted not None, list positions not None, list counts not None, list accessed not None,
                  const int64_t[::1] digests not None, object before):
    """Whether noted[i] is ``(positions[i], counts[i], accessed[i], digests[i])`` for every i, in ascending order.

    Positions are plain ints, the first above `before` (None: any). Where it is False, somebody else finds out why.
    """
    cdef Py_ssize_t i, n = digests.shape[0]
    cdef tuple row
    if not len(noted) == len(positions) == len(counts) == len(accessed) == n:
        return False
    for i in range(n):
        pos = positions[i]
        if type(pos) is not int or (before is not None and not before < pos):
            return False
        before = pos
        row = noted[i]
        if len(row) != 4 or type(row[0]) is not int or type(row[3]) is not int:
            return False
        if row[3] != digests[i] or row[0] != pos or row[1] != counts[i] or row[2] != accessed[i]:
            return False
    return True


def ordinary_vectors(const double[:, ::1] points not None, const double[:, ::1] embeddings not None, double radius):
    """Whether every number is finite, every point certainly inside this radius, and no embedding without length."""
    cdef size_t i, n = points.shape[0], dim = points.shape[1]
    cdef double most = radius * (1 - 1e-12), square
    cdef bint ordinary = True
    most *= most
    if embeddings.shape[0] != points.shape[0] or embeddings.shape[1] != points.shape[1]:
        raise ValueError("points and embeddings differ in shape")
    if n == 0 or dim == 0:
        return True
    with nogil:
        for i in range(n):
            if not c_dot(&points[i, 0], &points[i, 0], dim) < most:
                ordinary = False
                break
            square = c_dot(&embeddings[i, 0], &embeddings[i, 0], dim)
            if not 0 < square < kInfinity:
                ordinary = False
                break
    return ordinary


def fill_buffers(const uint8_t[:, ::1] data not None, list buffers not None):
    """Row i into the bytearray buffers[i]."""
    cdef Py_ssize_t i, n = data.shape[0], width = data.shape[1]
    if len(buffers) < n:
        raise ValueError(f"buffers: expected at least {n}, got {len(buffers)}")
    for i in range(n):
        if not PyByteArray_Check(buffers[i]) or PyByteArray_GET_SIZE(buffers[i]) != width:
            raise ValueError(f"buffers[{i}]: expected a bytearray of {width}")
        if width:
            _memcpy(PyByteArray_AS_STRING(buffers[i]), &data[i, 0], <size_t>width)


cdef int64_t _length(object value):
    if isinstance(value, str):
        return len(<str>value)
    return len(<bytes>value) if isinstance(value, bytes) else 0


def take_records(rows, Py_ssize_t most, int64_t room, Py_ssize_t digested, Py_ssize_t point, list columns not None,
                 uint8_t[:, ::1] points, uint8_t[:, ::1] embeddings, int64_t[::1] digests):
    """Take the next rows apart, up to `most`, in one pass, while each is in the processor's cache.

    Of row i the bytes of column `point` go to points[i], those of the column after it to embeddings[i], and the
    digest of the columns from `digested` on, as `record_digests` tells it, to digests[i]. The other values are appended
    to `columns`.

    Returns how many rows there were, the length of all texts and blobs in them, and the vectors that are no bytes of
    that length, each with its row and column. Once the length is above `room`, no more rows are taken.
    """
    cdef Py_ssize_t i = 0, j, last, width = len(columns), size = points.shape[1]
    cdef int64_t length = 0
    cdef uint64_t digest
    cdef tuple row
    cdef list odd = []
    if min(points.shape[0], embeddings.shape[0], digests.shape[0]) < most or embeddings.shape[1] != size:
        raise ValueError(f"expected {most} places for vectors of one length")
    if most <= 0:
        return 0, 0, odd
    for row in rows:
        if len(row) != width:
            raise ValueError(f"expected rows of {width} values, got {len(row)}")
        last = width
        while last > 0 and row[last - 1] is None:
            last -= 1
        digest = kSeed
        for j in range(width):
            value = row[j]
            length += _length(value)
            if digested <= j < last:
                digest = _digest_value(digest, value)
            if j != point and j != point + 1:
                (<list>columns[j]).append(value)
            elif not isinstance(value, bytes) or len(<bytes>value) != size:
                odd.append((i, j, value))
            elif j == point:
                _memcpy(&points[i, 0], <const char*>(<bytes>value), <size_t>size)
            else:
                _memcpy(&embeddings[i, 0], <const char*>(<bytes>value), <size_t>size)
        digests[i] = <int64_t>digest
        i += 1
        if length > room or i == most:
            break
    return i, length, odd
