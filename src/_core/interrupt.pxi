# What long native loops ask between their blocks. A signal's handler runs here, in Python's main thread; what it
# raises is found set when the C++ exception arrives, and passes through in its place.
from libcpp cimport bool as cppbool

cdef extern from "Python.h":
    int c_check_signals "PyErr_CheckSignals"() noexcept

cdef extern from "interrupt.hpp" namespace "poincare" nogil:
    void c_set_interrupt_check "poincare::set_interrupt_check"(cppbool (*check)() noexcept nogil)


cdef cppbool _interrupted() noexcept with gil:
    return c_check_signals() != 0


c_set_interrupt_check(<cppbool (*)() noexcept nogil>_interrupted)
