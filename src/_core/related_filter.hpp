// Tells of most nodes at once that they may be a negative of u, without a look at u's list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu.hpp"

namespace poincare {

// A Bloom filter (Bloom 1970) of the nodes in a list: two bits each, one in either half of a word. It never
// overlooks one of them; of others it takes a few for one, at each salt different ones.
class RelatedFilter {
  public:
    static constexpr std::size_t kMost = 20;  // nodes in a list that is told by a filter

    RelatedFilter() = default;  // holds everything
    explicit RelatedFilter(std::uint64_t word) : word_(word) {}
    static RelatedFilter empty() { return RelatedFilter(0); }

    void add(std::int32_t node, std::uint32_t salt) {
        const Bits bits(node, salt);
        word_ |= std::uint64_t{1} << bits.low | std::uint64_t{1} << (bits.high + 32);
    }
    POINCARE_INLINE bool may_hold(std::int32_t node, std::uint32_t salt) const {
        const Bits bits(node, salt);
        return ((word_ >> bits.low) & (word_ >> (bits.high + 32)) & 1) != 0;
    }
    POINCARE_INLINE bool holds_everything() const { return word_ == ~std::uint64_t{0}; }
    std::uint64_t word() const { return word_; }

  private:
    struct Bits {
        int low, high;
        POINCARE_INLINE Bits(std::int32_t node, std::uint32_t salt) {
            const std::uint64_t mixed = (static_cast<std::uint32_t>(node) ^ salt) * 0x9E3779B97F4A7C15u;
            low = static_cast<int>(mixed >> 59);
            high = static_cast<int>(mixed >> 54 & 31);
        }
    };

    std::uint64_t word_ = ~std::uint64_t{0};
};

// A filter in lanes of a row that hold no coordinate, as fractions of numbers from 1 to 2: arithmetic that
// multiplies them by 0 is not disturbed, and not slow.
template <typename Real>
struct FilterLanes {
    using Pattern = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
    static constexpr int kBits = sizeof(Real) == 4 ? 22 : 32;  // of the word in a lane
    static constexpr std::size_t kCount = (64 + kBits - 1) / kBits;
    static constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;

    static void store(const RelatedFilter& filter, Real* lanes) {
        constexpr Real one = 1;
        Pattern of_one;
        std::memcpy(&of_one, &one, sizeof(one));
        for (std::size_t i = 0; i < kCount; ++i) {
            const std::uint64_t part = filter.word() >> (kBits * static_cast<int>(i)) & kMask;
            const Pattern pattern = of_one | static_cast<Pattern>(part);
            std::memcpy(lanes + i, &pattern, sizeof(pattern));
        }
    }
    POINCARE_INLINE static RelatedFilter load(const Real* lanes) {
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
            Pattern pattern;
            std::memcpy(&pattern, lanes + i, sizeof(pattern));
            word |= (pattern & kMask) << (kBits * static_cast<int>(i));
        }
        return RelatedFilter(word);
    }
};

}  // namespace poincare
