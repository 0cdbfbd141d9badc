// The rounds are written once, as a template over the type of a word: an integer, or a vector whose lanes
// belong to different messages. Vectors stay inside functions that carry the target attribute.
#include "blake2b.hpp"

#include <algorithm>
#include <cstring>

#include "cpu.hpp"

namespace poincare {
namespace {

constexpr std::uint64_t kInitial[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

// Order of the message words in each round (RFC 7693, section 2.7).
constexpr int kSigma[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

#define POINCARE_ROTATE(x, bits) (((x) >> (bits)) | ((x) << (64 - (bits))))

template <typename Word>
POINCARE_INLINE void mix(Word& a, Word& b, Word& c, Word& d, const Word& x, const Word& y) {
    a = a + b + x;
    d = POINCARE_ROTATE(d ^ a, 32);
    c = c + d;
    b = POINCARE_ROTATE(b ^ c, 24);
    a = a + b + y;
    d = POINCARE_ROTATE(d ^ a, 16);
    c = c + d;
    b = POINCARE_ROTATE(b ^ c, 63);
}

template <int round, typename Word>
POINCARE_INLINE void mix_round(Word* v, const Word* m) {
    mix(v[0], v[4], v[8], v[12], m[kSigma[round][0]], m[kSigma[round][1]]);
    mix(v[1], v[5], v[9], v[13], m[kSigma[round][2]], m[kSigma[round][3]]);
    mix(v[2], v[6], v[10], v[14], m[kSigma[round][4]], m[kSigma[round][5]]);
    mix(v[3], v[7], v[11], v[15], m[kSigma[round][6]], m[kSigma[round][7]]);
    mix(v[0], v[5], v[10], v[15], m[kSigma[round][8]], m[kSigma[round][9]]);
    mix(v[1], v[6], v[11], v[12], m[kSigma[round][10]], m[kSigma[round][11]]);
    mix(v[2], v[7], v[8], v[13], m[kSigma[round][12]], m[kSigma[round][13]]);
    mix(v[3], v[4], v[9], v[14], m[kSigma[round][14]], m[kSigma[round][15]]);
}

template <typename Word>
POINCARE_INLINE void mix_all(Word* v, const Word* m) {
    mix_round<0>(v, m);
    mix_round<1>(v, m);
    mix_round<2>(v, m);
    mix_round<3>(v, m);
    mix_round<4>(v, m);
    mix_round<5>(v, m);
    mix_round<6>(v, m);
    mix_round<7>(v, m);
    mix_round<8>(v, m);
    mix_round<9>(v, m);
    mix_round<10>(v, m);
    mix_round<11>(v, m);
}

void compress(std::uint64_t* state, const std::uint8_t* block, std::uint64_t bytes_so_far, bool last) {
    std::uint64_t v[16], m[16];
    for (int i = 0; i < 16; ++i) m[i] = load_word(block + 8 * i);
    std::copy(state, state + 8, v);
    std::copy(kInitial, kInitial + 8, v + 8);
    v[12] ^= bytes_so_far;
    if (last) v[14] = ~v[14];
    mix_all(v, m);
    for (int i = 0; i < 8; ++i) state[i] ^= v[i] ^ v[i + 8];
}

#ifdef POINCARE_WIDE_LEVELS
typedef std::uint64_t FourWords __attribute__((vector_size(32)));
typedef std::uint64_t EightWords __attribute__((vector_size(64)));

constexpr std::uint8_t kShort = 16;  // bytes; of nearly all features

// `filled` words of a message at most are not zero: the others are neither gathered nor added.
template <int lanes, int filled, typename Word>
POINCARE_INLINE void first_words_of_lanes(const Blake2bKey& key, const std::uint8_t* blocks,
                                          const std::uint8_t* sizes, std::uint64_t* first_words) {
    Word v[16], m[16] = {};
    for (int i = 0; i < filled; ++i)
        for (int lane = 0; lane < lanes; ++lane)
            m[i][lane] = load_word(blocks + static_cast<std::size_t>(lane) * kBlake2bBlock + 8 * i);
    for (int i = 0; i < 8; ++i) {
        v[i] = Word{} + key.state[i];
        v[i + 8] = Word{} + kInitial[i];
    }
    for (int lane = 0; lane < lanes; ++lane) v[12][lane] ^= kBlake2bBlock + sizes[lane];
    v[14] = ~v[14];
    mix_all(v, m);
    const Word first = v[0] ^ v[8];
    for (int lane = 0; lane < lanes; ++lane) first_words[lane] = key.state[0] ^ first[lane];
}

POINCARE_AVX2 void first_words_avx2(const Blake2bKey& key, const std::uint8_t* blocks,
                                    const std::uint8_t* sizes, std::uint64_t* first_words) {
    if (*std::max_element(sizes, sizes + 4) <= kShort)
        return first_words_of_lanes<4, kShort / 8, FourWords>(key, blocks, sizes, first_words);
    first_words_of_lanes<4, 16, FourWords>(key, blocks, sizes, first_words);
}

POINCARE_AVX512 void first_words_avx512(const Blake2bKey& key, const std::uint8_t* blocks,
                                        const std::uint8_t* sizes, std::uint64_t* first_words) {
    if (*std::max_element(sizes, sizes + 8) <= kShort)
        return first_words_of_lanes<8, kShort / 8, EightWords>(key, blocks, sizes, first_words);
    first_words_of_lanes<8, 16, EightWords>(key, blocks, sizes, first_words);
}
#endif

}  // namespace

Blake2bKey blake2b_key(const std::uint8_t* key, std::size_t key_size, std::size_t digest_size) {
    Blake2bKey result;
    std::copy(kInitial, kInitial + 8, result.state);
    result.state[0] ^= 0x01010000u ^ (static_cast<std::uint64_t>(key_size) << 8) ^ digest_size;
    std::uint8_t block[kBlake2bBlock] = {};
    std::copy(key, key + key_size, block);
    compress(result.state, block, kBlake2bBlock, false);
    return result;
}

std::uint64_t blake2b_first_word(const Blake2bKey& key, const std::uint8_t* message, std::size_t size) {
    std::uint64_t state[8];
    std::copy(key.state, key.state + 8, state);
    std::size_t done = 0;
    for (; size - done > kBlake2bBlock; done += kBlake2bBlock)
        compress(state, message + done, kBlake2bBlock + done + kBlake2bBlock, false);
    std::uint8_t block[kBlake2bBlock] = {};
    std::copy(message + done, message + size, block);
    compress(state, block, kBlake2bBlock + size, true);
    return state[0];
}

void blake2b_first_words(const Blake2bKey& key, const std::uint8_t* blocks, const std::uint8_t* sizes,
                         std::size_t count, std::uint64_t* first_words) {
    std::size_t i = 0;
#ifdef POINCARE_WIDE_LEVELS
    const SimdLevel level = simd_level();
    if (level >= SimdLevel::avx512)
        for (; i + 8 <= count; i += 8)
            first_words_avx512(key, blocks + i * kBlake2bBlock, sizes + i, first_words + i);
    if (level >= SimdLevel::avx2)
        for (; i + 4 <= count; i += 4)
            first_words_avx2(key, blocks + i * kBlake2bBlock, sizes + i, first_words + i);
#endif
    for (; i < count; ++i) first_words[i] = blake2b_first_word(key, blocks + i * kBlake2bBlock, sizes[i]);
}

}  // namespace poincare
