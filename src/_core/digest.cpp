#include "digest.hpp"

namespace poincare {
namespace {

constexpr std::size_t kWord = 8;
constexpr std::size_t kLanes = 8;  // a multiplication takes several cycles: that many are under way at once

std::uint64_t word_at(const unsigned char* bytes) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < kWord; ++i) word |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    return word;
}

}  // namespace

std::uint64_t digest_bytes(std::uint64_t before, const unsigned char* bytes, std::size_t n) {
    std::uint64_t digest = before;
    if (n >= kLanes * kWord) {
        std::uint64_t lanes[kLanes];
        for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = digest_word(before, lane);
        for (; n >= kLanes * kWord; n -= kLanes * kWord, bytes += kLanes * kWord)
            for (std::size_t lane = 0; lane < kLanes; ++lane)
                lanes[lane] = digest_word(lanes[lane], word_at(bytes + lane * kWord));
        for (const std::uint64_t lane : lanes) digest = digest_word(digest, lane);
    }
    for (; n >= kWord; n -= kWord, bytes += kWord) digest = digest_word(digest, word_at(bytes));
    if (n == 0) return digest;
    std::uint64_t rest = 0;
    for (std::size_t i = 0; i < n; ++i) rest |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    return digest_word(digest, rest);
}

}  // namespace poincare
