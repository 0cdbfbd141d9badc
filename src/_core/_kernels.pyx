# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: embedsignature=True
# Stateless array work. The loops live in C++ (one header and source a kernel family, on raw pointers); this
# file only turns typed memoryviews into pointers with the GIL released. One .pxi a family.
from cpython.buffer cimport PyBUF_CONTIG, PyBUF_CONTIG_RO, PyBUF_FORMAT, PyBUF_SIMPLE
from cpython.buffer cimport Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport INFINITY
from libc.stddef cimport size_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

import numpy as _np

include "constants.pxi"
include "threads.pxi"
include "interrupt.pxi"
include "lock.pxi"
include "ball.pxi"
include "maps.pxi"
include "lorentz.pxi"
include "polar.pxi"
include "cones.pxi"
include "placement.pxi"
include "embeddings.pxi"
include "tree.pxi"
include "instants.pxi"
include "decay.pxi"
include "scan.pxi"
include "batch_scan.pxi"
include "cone_members.pxi"
include "hashing.pxi"
include "decimal.pxi"
include "records.pxi"
include "results.pxi"
include "sqlite_reader.pxi"
include "writeback.pxi"
include "gathering.pxi"
include "new_row.pxi"
include "training.pxi"
include "cone_training.pxi"
include "closure.pxi"
include "reconstruction.pxi"
include "spreading.pxi"
include "layout_quality.pxi"
