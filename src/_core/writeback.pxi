cdef extern from "writeback.hpp" namespace "poincare" nogil:
    void c_start_writeback "poincare::start_writeback"(int)


def start_writeback(int descriptor):
    """Let the system begin to write a file to the disk; does not wait, tells no error, leaves the flush to be done."""
    with nogil:
        c_start_writeback(descriptor)
