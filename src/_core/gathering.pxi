# What is to be added, as Python objects: loops that find nothing unusual. Where they find something, they give None, and
# whoever asked looks for himself, and says what it is.
cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    PyObject* PyDict_GetItemWithError(dict, object) except? NULL

from libc.math cimport isfinite as _isfinite

import os as _os


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


def plain_copies(list metas not None):
    """`plain_copy` of each, None for None and for an empty one; None for all where one is another kind of thing."""
    cdef list copies = []
    for meta in metas:
        if meta is not None:
            meta = plain_copy(meta)
            if meta is None:
                return None
        copies.append(meta or None)
    return copies


cdef bint _is_plain_text(text) except -1:
    cdef const char* letters
    cdef Py_ssize_t i, n
    if type(text) is not str or not PyUnicode_IS_COMPACT_ASCII(text):
        return False
    letters = PyUnicode_AsUTF8AndSize(text, &n)
    for i in range(n):
        if letters[i] > b" ":  # all white space of ASCII is up to there
            return True
    return False


def is_plain_text(text):
    """Whether it is a str, of no class derived from it, of ASCII, and not blank."""
    return _is_plain_text(text)


def are_plain_texts(list values not None):
    """Whether each is plain text."""
    for value in values:
        if not _is_plain_text(value):
            return False
    return True


def are_plain_or_none(list values not None):
    """Whether each is plain text or None."""
    for value in values:
        if value is not None and not _is_plain_text(value):
            return False
    return True


def all_are(list values not None, one):
    """Whether each is this very object."""
    for value in values:
        if value is not one:
            return False
    return True


def names_are_sound(list ids not None, list parents not None, known not None):
    """Whether ids (None: to be made up) are new and differ, and each parent is among the `known` or before its child."""
    cdef Py_ssize_t i
    cdef set seen = set()
    for i in range(len(ids)):
        id, parent = ids[i], parents[i]
        if parent is not None and parent not in seen and parent not in known:
            return False
        if id is not None:
            if id in seen or id in known:
                return False
            seen.add(id)
    return True


def with_made_up_ids(list ids not None, known not None):
    """These ids, and one of twelve random hex digits in each place of a None; none of those is taken, or `known`."""
    cdef Py_ssize_t i, at = 0, missing = 0
    cdef set taken = set()
    cdef str digits = ""
    for id in ids:
        if id is None:
            missing += 1
        else:
            taken.add(id)
    cdef list all_ids = ids.copy()
    for i in range(len(all_ids)):
        if all_ids[i] is not None:
            continue
        while True:
            if at == len(digits):
                digits, at = _os.urandom(6 * missing).hex(), 0
            id = digits[at:at + 12]
            at += 12
            if id not in taken and id not in known:
                break
        missing -= 1
        taken.add(id)
        all_ids[i] = id
    return all_ids


def rows_of_ids(list ids not None, known not None):
    """Rows of ids, which are `known`, and -1 for None."""
    rows = _np.empty(len(ids), _np.int32)
    cdef int32_t[::1] out = rows
    cdef Py_ssize_t i
    for i in range(len(ids)):
        id = ids[i]
        out[i] = -1 if id is None else known[id]
    return rows


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
