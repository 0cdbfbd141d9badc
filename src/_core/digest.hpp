// A 64-bit checksum that tells damage from what was written; it is no defence against forgery.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

// One step takes one 64-bit word in. It is a bijection of the word and of what came before: whatever changes
// within one word changes the digest for certain, anything else but with the odds of 2^-64.
inline std::uint64_t digest_word(std::uint64_t before, std::uint64_t word) {
    const std::uint64_t mixed = (before ^ word) * 0x9e3779b97f4a7c15U;
    return mixed ^ (mixed >> 32);
}

// Takes bytes in, as little-endian words. Their number is the caller's to take in.
std::uint64_t digest_bytes(std::uint64_t before, const unsigned char* bytes, std::size_t n);

}  // namespace poincare
