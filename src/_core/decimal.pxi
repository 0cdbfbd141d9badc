from libcpp.string cimport string

cdef extern from "decimal.hpp" namespace "poincare" nogil:
    void c_append_decimal_list "poincare::append_decimal_list"(const double*, size_t, string&) except +


def decimal_lists(const double[:, ::1] rows):
    """One JSON list a row, each number as ``repr`` writes it."""
    cdef Py_ssize_t i, n = rows.shape[0], d = rows.shape[1]
    cdef string text
    cdef list out = []
    for i in range(n):
        text.clear()
        if d > 0:
            with nogil:
                c_append_decimal_list(&rows[i, 0], <size_t>d, text)
        else:
            text.append(b"[]")
        out.append(text.data()[:text.size()].decode("ascii"))
    return out
