"""Native kernels: ``_kernels`` (Cython, stateless array work) and ``_hnsw`` (pybind11, the graph index)."""
