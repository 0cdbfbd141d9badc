from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

cdef extern from "Python.h":
    bint PyObject_GC_IsTracked(object)
    void PyObject_GC_UnTrack(void*)


def append_pairs(list pairs, list path, object node):
    """Append ``(ancestor, node)`` for every ancestor in ``path``.

    A pair of two objects that the garbage collector does not follow (text, numbers) needs none itself. The
    collector finds that out by visiting each; a closure has millions, so it is said at once.
    """
    cdef bint plain = not PyObject_GC_IsTracked(node)
    cdef object ancestor, pair
    for ancestor in path:
        pair = PyTuple_New(2)
        Py_INCREF(ancestor)
        PyTuple_SET_ITEM(pair, 0, ancestor)
        Py_INCREF(node)
        PyTuple_SET_ITEM(pair, 1, node)
        if plain and not PyObject_GC_IsTracked(ancestor):
            PyObject_GC_UnTrack(<void*>pair)
        pairs.append(pair)
