from libc.string cimport memcpy

cdef extern from "tree.hpp" namespace "poincare" nogil:
    cdef struct TreeLinks:
        int32_t* parent
        int32_t* first_child
        int32_t* last_child
        int32_t* next_sibling
        int32_t* prev_sibling
    void c_attach_rows "poincare::attach_rows"(const TreeLinks&, const int32_t*, const int32_t*, size_t)
    void c_detach_row "poincare::detach_row"(const TreeLinks&, int32_t)
    vector[int32_t] c_linked_rows "poincare::linked_rows"(const int32_t*, int32_t) except +
    vector[int32_t] c_subtree_rows "poincare::subtree_rows"(
        const int32_t*, const int32_t*, const int32_t*, int32_t) except +
    int64_t c_levels_below "poincare::levels_below"(const int64_t*, size_t, int32_t*)


cdef object _rows_array(const vector[int32_t]& rows):
    out = _np.empty(rows.size(), dtype=_np.int32)
    cdef int32_t[::1] view = out
    if rows.size():
        memcpy(&view[0], rows.data(), rows.size() * sizeof(int32_t))
    return out


cdef TreeLinks _tree_links(int32_t[::1] parent, int32_t[::1] first_child, int32_t[::1] last_child,
                           int32_t[::1] next_sibling, int32_t[::1] prev_sibling):
    cdef TreeLinks links
    links.parent = &parent[0]
    links.first_child = &first_child[0]
    links.last_child = &last_child[0]
    links.next_sibling = &next_sibling[0]
    links.prev_sibling = &prev_sibling[0]
    return links


def attach_rows(const int32_t[::1] rows, const int32_t[::1] parents, int32_t[::1] parent, int32_t[::1] first_child,
                int32_t[::1] last_child, int32_t[::1] next_sibling, int32_t[::1] prev_sibling):
    if rows.shape[0] != parents.shape[0]:
        raise ValueError("rows and parents differ in length")
    if rows.shape[0] == 0:
        return
    cdef TreeLinks links = _tree_links(parent, first_child, last_child, next_sibling, prev_sibling)
    with nogil:
        c_attach_rows(links, &rows[0], &parents[0], <size_t>rows.shape[0])


def detach_row(int32_t row, int32_t[::1] parent, int32_t[::1] first_child, int32_t[::1] last_child,
               int32_t[::1] next_sibling, int32_t[::1] prev_sibling):
    c_detach_row(_tree_links(parent, first_child, last_child, next_sibling, prev_sibling), row)


def detach_rows(const int32_t[::1] rows, int32_t[::1] parent, int32_t[::1] first_child, int32_t[::1] last_child,
                int32_t[::1] next_sibling, int32_t[::1] prev_sibling):
    """Cut each from its parent, the last of them first."""
    cdef Py_ssize_t i
    cdef TreeLinks links
    if rows.shape[0] == 0:
        return
    links = _tree_links(parent, first_child, last_child, next_sibling, prev_sibling)
    with nogil:
        for i in range(rows.shape[0] - 1, -1, -1):
            c_detach_row(links, rows[i])


def child_rows(int32_t row, const int32_t[::1] first_child, const int32_t[::1] next_sibling):
    return _rows_array(c_linked_rows(&next_sibling[0], first_child[row]))


def ancestor_rows(int32_t row, const int32_t[::1] parent):
    return _rows_array(c_linked_rows(&parent[0], parent[row]))


def subtree_rows(int32_t row, const int32_t[::1] parent, const int32_t[::1] last_child,
                 const int32_t[::1] prev_sibling):
    cdef vector[int32_t] rows
    with nogil:
        rows = c_subtree_rows(&parent[0], &last_child[0], &prev_sibling[0], row)
    return _rows_array(rows)


def levels_below(const int64_t[::1] parent, int32_t[::1] level):
    """Fill in the level of every node, 0 at a root; -1, or a node that comes back to itself."""
    cdef int64_t found = -1
    cdef Py_ssize_t i, n = parent.shape[0]
    if level.shape[0] != n:
        raise ValueError("level: expected one place a node")
    for i in range(n):
        if parent[i] >= n:
            raise ValueError(f"parent: {parent[i]} is no node of {n}")
    if n:
        with nogil:
            found = c_levels_below(&parent[0], <size_t>n, &level[0])
    return found
