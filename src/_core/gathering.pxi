# What is to be added, as Python objects: loops that find nothing unusual. Where they find something, they give None, and
# whoever asked looks for himself, and says what it is.
cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    PyObject* PyDict_GetItemWithError(dict, object) except? NULL

from libc.math cimport isfinite as _isfinite


def plain_copy(meta):
    """A copy of a flat dict whose keys and values strict JSON can write in ASCII and 64 bits; None for any other."""
    cdef int overflow
    if type(meta) is not dict:
        return None
    for key, value in (<dict>meta).items():
        if type(key) is not str or not PyUnicode_IS_COMPACT_ASCII(key):
            return None
        if value is None or type(value) is bool:
            continue
        if type(value) is str:
            if not PyUnicode_IS_COMPACT_ASCII(value):
                return None
        elif type(value) is int:
            PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow:
                return None
        elif type(value) is not float or not _isfinite(<double>value):
            return None
    return (<dict>meta).copy()


def is_plain_text(text):
    """Whether it is a str, of no class derived from it, of ASCII, and not blank."""
    cdef const char* letters
    cdef Py_ssize_t i, n
    if type(text) is not str or not PyUnicode_IS_COMPACT_ASCII(text):
        return False
    letters = PyUnicode_AsUTF8AndSize(text, &n)
    for i in range(n):
        if letters[i] > b" ":  # all white space of ASCII is up to there
            return True
    return False


def field_lists(list items not None, tuple names not None, tuple defaults not None):
    """A list a name with what each item has there; None where an item is no dict, or has another key."""
    cdef Py_ssize_t i, found
    cdef PyObject* value
    cdef list lists = [[] for _ in names]
    for item in items:
        if type(item) is not dict:
            return None
        found = 0
        for i in range(len(names)):
            value = PyDict_GetItemWithError(<dict>item, names[i])
            if value is NULL:
                (<list>lists[i]).append(defaults[i])
            else:
                (<list>lists[i]).append(<object>value)
                found += 1
        if found != len(<dict>item):
            return None
    return lists
