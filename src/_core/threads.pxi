cdef extern from "threads.hpp" namespace "poincare" nogil:
    int c_available_threads "poincare::available_threads"()
    void c_make_serial_after_fork "poincare::make_serial_after_fork"()
    bint c_serial_after_fork "poincare::serial_after_fork"()

cdef extern from "cpu.hpp" namespace "poincare" nogil:
    cdef enum class SimdLevel:
        baseline
        avx2
        avx512
    SimdLevel c_simd_level "poincare::simd_level"()
    const char* c_simd_level_name "poincare::simd_level_name"(SimdLevel)


def available_threads():
    return c_available_threads()


def make_serial_after_fork():
    c_make_serial_after_fork()


def serial_after_fork():
    return c_serial_after_fork()


def simd_level():
    return c_simd_level_name(c_simd_level()).decode("ascii")
