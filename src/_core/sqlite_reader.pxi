# Rows of a file that nobody is writing: as `take_records` takes them, without a Python object for every vector.
from cpython.unicode cimport PyUnicode_DecodeUTF8

cdef extern from "sqlite_reader.hpp" namespace "poincare" nogil:
    cdef enum:
        kSqliteInteger "poincare::SqliteValue::kInteger"
        kSqliteReal "poincare::SqliteValue::kReal"
        kSqliteText "poincare::SqliteValue::kText"
        kSqliteBlob "poincare::SqliteValue::kBlob"
    cppclass SqliteValue:
        int type
        int64_t integer
        double real
        const unsigned char* data
        size_t size
    cppclass SqliteReader:
        SqliteReader(const char*, const char*, const char*) except +
        bint step() except +
        int width()
        SqliteValue value(int) except +


cdef object _object_of(const SqliteValue& value):
    if value.type == kSqliteInteger:
        return value.integer
    if value.type == kSqliteReal:
        return value.real
    if value.type == kSqliteText:
        try:
            return PyUnicode_DecodeUTF8(<const char*>value.data, <Py_ssize_t>value.size, NULL)
        except UnicodeDecodeError as error:
            raise RuntimeError("a text that is no UTF-8") from error
    if value.type == kSqliteBlob:
        return (<const char*>value.data)[:value.size]
    return None


cdef uint64_t _digest_found(uint64_t before, const SqliteValue& value) noexcept:
    """`_digest_value` of the object that it would be."""
    cdef uint64_t word
    if value.type == kSqliteInteger:
        return c_digest_word(c_digest_word(before, kInteger), <uint64_t>value.integer)
    if value.type == kSqliteReal:
        _memcpy(&word, &value.real, sizeof(word))
        return c_digest_word(c_digest_word(before, kReal), word)
    if value.type == kSqliteText:
        return _digest_bytes(before, kText, value.data, <Py_ssize_t>value.size)
    if value.type == kSqliteBlob:
        return _digest_bytes(before, kBlob, value.data, <Py_ssize_t>value.size)
    return c_digest_word(before, kNothing)


cdef class SqliteRows:
    """Rows that a statement finds in a file; for one thread at a time.

    What goes wrong is a RuntimeError: Python's module, asked the same, tells what.
    """

    cdef SqliteReader* _reader

    def __cinit__(self, str module, str uri not None, str statement not None):
        named = None if module is None else module.encode()
        located, said = uri.encode(), statement.encode()
        cdef const char* where = NULL
        if named is not None:
            where = named
        self._reader = new SqliteReader(where, located, said)

    def __dealloc__(self):
        del self._reader

    def close(self):
        del self._reader
        self._reader = NULL

    cdef bint _step(self) except -1:
        cdef bint found
        if self._reader == NULL:
            raise RuntimeError("closed")
        with nogil:
            found = self._reader.step()
        return found

    def __iter__(self):
        return self

    def __next__(self):
        cdef int j
        if not self._step():
            raise StopIteration
        return tuple([_object_of(self._reader.value(j)) for j in range(self._reader.width())])

    def take(self, Py_ssize_t most, int64_t room, Py_ssize_t digested, Py_ssize_t point, list columns not None,
             uint8_t[:, ::1] points, uint8_t[:, ::1] embeddings, int64_t[::1] digests):
        """`take_records` of the rows that come next."""
        cdef Py_ssize_t i = 0, j, nothing, width = len(columns), size = points.shape[1]
        cdef int64_t length = 0
        cdef uint64_t digest
        cdef SqliteValue value
        cdef list odd = []
        if min(points.shape[0], embeddings.shape[0], digests.shape[0]) < most or embeddings.shape[1] != size:
            raise ValueError(f"expected {most} places for vectors of one length")
        while i < most and length <= room and self._step():
            if self._reader.width() != width:
                raise ValueError(f"expected rows of {width} values, got {self._reader.width()}")
            digest = kSeed
            nothing = 0  # values since the last that is something
            for j in range(width):
                value = self._reader.value(<int>j)
                length += <int64_t>value.size
                if j >= digested:
                    if value.type in (kSqliteInteger, kSqliteReal, kSqliteText, kSqliteBlob):
                        for _ in range(nothing):
                            digest = c_digest_word(digest, kNothing)
                        nothing = 0
                        digest = _digest_found(digest, value)
                    else:
                        nothing += 1
                if j != point and j != point + 1:
                    (<list>columns[j]).append(_object_of(value))
                elif value.type != kSqliteBlob or <Py_ssize_t>value.size != size:
                    odd.append((i, j, _object_of(value)))
                elif size:
                    _memcpy(&points[i, 0] if j == point else &embeddings[i, 0], value.data, <size_t>size)
            digests[i] = <int64_t>digest
            i += 1
        return i, length, odd
