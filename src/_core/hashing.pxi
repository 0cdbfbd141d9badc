cdef extern from "Python.h":
    bint Py_UNICODE_ISALNUM(Py_UCS4 c) nogil
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)

cdef extern from "hashing.hpp" namespace "poincare" nogil:
    cppclass TextView:
        const void* code_points
        size_t length
        int bytes_per_code_point
    cppclass HashingOptions:
        size_t dim
        size_t shortest
        size_t longest
        uint32_t seed
    void c_hash_texts "poincare::hash_texts"(
        const TextView* texts, size_t count, const uint8_t* is_word, const HashingOptions& options,
        double* rows, int threads) except +

# Bitmap of the code points that Python's `\w` matches in a str. The first 256 are set at import; the rest (some
# milliseconds) when a text with wider code points first comes.
cdef uint8_t _is_word[139264]  # 0x110000 / 8
cdef bint _is_word_complete = False


cdef void _mark_words(uint32_t begin, uint32_t end) noexcept nogil:
    cdef uint32_t c
    for c in range(begin, end):
        if c == 0x5f or Py_UNICODE_ISALNUM(c):
            _is_word[c >> 3] |= <uint8_t>(1 << (c & 7))


_mark_words(0, 256)


def hash_texts(
    texts not None, size_t dim, size_t shortest, size_t longest, uint32_t seed, double[:, ::1] out not None,
    int threads=0,
):
    """Rows of the hashing embedder. `texts`: a list or tuple of str; `out`: float64 of shape (len(texts), dim)."""
    global _is_word_complete
    cdef Py_ssize_t n = len(texts)
    if out.shape[0] != n or <size_t>out.shape[1] != dim:
        raise ValueError(f"out: expected shape ({n}, {dim}), got ({out.shape[0]}, {out.shape[1]})")
    if n == 0:
        return
    cdef list lowered = []
    cdef vector[TextView] views
    cdef TextView view
    cdef str text
    views.reserve(n)
    for given in texts:
        if not isinstance(given, str):
            raise TypeError(f"texts[{len(lowered)}]: expected a str, got {type(given).__name__} {given!r:.80}")
        text = str.lower(given)
        lowered.append(text)  # keeps the code points alive
        view.code_points = PyUnicode_DATA(text)
        view.length = len(text)
        view.bytes_per_code_point = PyUnicode_KIND(text)
        if view.bytes_per_code_point > 1 and not _is_word_complete:
            _mark_words(256, 0x110000)
            _is_word_complete = True
        views.push_back(view)
    if len(lowered) != n:
        raise ValueError("texts: changed while being read")
    cdef HashingOptions options
    options.dim = dim
    options.shortest = shortest
    options.longest = longest
    options.seed = seed
    with nogil:
        c_hash_texts(views.data(), n, _is_word, options, &out[0, 0], threads)
