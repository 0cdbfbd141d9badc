#include <pybind11/pybind11.h>

PYBIND11_MODULE(_hnsw, module) {
    module.doc() = "hnswlib as the nearest-neighbour backend, in Lorentz space.";
}
