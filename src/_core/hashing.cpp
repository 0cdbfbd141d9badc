#include "hashing.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "blake2b.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kCharactersPerThread = 8192;
constexpr std::size_t kMostSlots = 1 << 14;
constexpr std::size_t kLanes = 8;         // messages that BLAKE2b takes at a time
constexpr std::size_t kInlineBytes = 15;  // features up to here fit a cache key
constexpr std::size_t kPrefixBytes = 2;   // "w:" or "c:"

enum class FeatureKind : std::uint8_t { word = 'w', ngram = 'c' };

// Where a feature goes: coordinate and sign.
struct Target {
    std::uint32_t index;
    bool positive;
};

struct CacheKey {
    std::uint64_t low = 0, high = 0;  // the bytes, zero-padded (no token holds a NUL), and the kind on top
    bool operator==(const CacheKey& other) const { return low == other.low && high == other.high; }
};

// Features met before. Each has one slot and takes it from whoever held it, so that time and memory stay
// bounded whatever the texts are.
class FeatureCache {
  public:
    explicit FeatureCache(std::size_t characters) {
        std::size_t slots = 64;
        while (slots < kMostSlots && slots < 4 * characters) slots *= 2, --shift_;
        slots_.resize(slots);
    }
    const Target* find(const CacheKey& key) const {
        const Slot& slot = slots_[place(key)];
        return slot.key == key ? &slot.target : nullptr;
    }
    void keep(const CacheKey& key, Target target) { slots_[place(key)] = {key, target}; }

  private:
    struct Slot {
        CacheKey key;
        Target target{};
    };
    std::size_t place(const CacheKey& key) const {
        const std::uint64_t mixed = (key.low * 0x9e3779b97f4a7c15) ^ (key.high * 0xc2b2ae3d27d4eb4f);
        return static_cast<std::size_t>(((mixed ^ (mixed >> 32)) * 0x9e3779b97f4a7c15) >> shift_);
    }
    int shift_ = 58;  // 64 slots
    std::vector<Slot> slots_;
};

// Adds the features of texts to rows. One to a thread.
class RowHasher {
  public:
    RowHasher(const Blake2bKey& key, const HashingOptions& options, const std::uint8_t* is_word,
              std::size_t characters)
        : key_(key), options_(options), is_word_(is_word), cache_(characters) {}

    void add(const TextView& text, double* row) {
        switch (text.bytes_per_code_point) {
            case 1:
                return add_tokens(static_cast<const std::uint8_t*>(text.code_points), text.length, row);
            case 2:
                return add_tokens(static_cast<const std::uint16_t*>(text.code_points), text.length, row);
            default:
                return add_tokens(static_cast<const std::uint32_t*>(text.code_points), text.length, row);
        }
    }

    // Hashes what still waits. Rows are complete after this.
    void flush() {
        std::uint64_t first_words[kLanes];
        blake2b_first_words(key_, blocks_, sizes_, waiting_, first_words);
        for (std::size_t i = 0; i < waiting_; ++i) {
            const Target target = target_of(first_words[i]);
            put(target, waiting_rows_[i]);
            if (sizes_[i] <= kPrefixBytes + kInlineBytes) cache_.keep(waiting_keys_[i], target);
            std::memset(blocks_ + i * kBlake2bBlock, 0, sizes_[i]);
        }
        waiting_ = 0;
    }

  private:
    template <typename CodePoint>
    void add_tokens(const CodePoint* text, std::size_t length, double* row) {
        std::size_t i = 0;
        while (i < length) {
            while (i < length && !in_token(text[i])) ++i;
            const std::size_t begin = i;
            while (i < length && in_token(text[i])) ++i;
            if (i > begin) add_token(text + begin, i - begin, row);
        }
    }

    bool in_token(std::uint32_t c) const { return c == '\'' || (is_word_[c >> 3] >> (c & 7) & 1); }

    template <typename CodePoint>
    void add_token(const CodePoint* token, std::size_t length, double* row) {
        encode(token, length);
        const std::size_t padded = length + 2;
        add_feature(FeatureKind::word, 1, offsets_[padded - 1] - 1, row);
        const std::size_t longest = std::min(options_.longest, padded);
        for (std::size_t n = options_.shortest; n <= longest; ++n)
            for (std::size_t i = 0; i + n <= padded; ++i)
                add_feature(FeatureKind::ngram, offsets_[i], offsets_[i + n] - offsets_[i], row);
    }

    // utf8_ = room for a prefix, then '#', the token, '#' in UTF-8, then room for reading whole words;
    // offsets_[i] = where code point i begins, counted from the first '#'.
    template <typename CodePoint>
    void encode(const CodePoint* token, std::size_t length) {
        utf8_.resize(kPrefixBytes + 4 * length + 2 + 16);
        offsets_.resize(length + 3);
        std::uint8_t* const start = utf8_.data() + kPrefixBytes;
        std::uint8_t* out = start;
        std::size_t* offset = offsets_.data();
        *offset++ = 0;
        *out++ = '#';
        for (std::size_t i = 0; i < length; ++i) {
            *offset++ = static_cast<std::size_t>(out - start);
            out = encode_code_point(token[i], out);
        }
        *offset++ = static_cast<std::size_t>(out - start);
        *out++ = '#';
        *offset = static_cast<std::size_t>(out - start);
    }

    static std::uint8_t* encode_code_point(std::uint32_t c, std::uint8_t* out) {
        const auto tail = [](std::uint32_t bits) { return static_cast<std::uint8_t>(0x80 | (bits & 0x3f)); };
        if (c < 0x80) {
            *out++ = static_cast<std::uint8_t>(c);
        } else if (c < 0x800) {
            *out++ = static_cast<std::uint8_t>(0xc0 | c >> 6);
            *out++ = tail(c);
        } else if (c < 0x10000) {
            *out++ = static_cast<std::uint8_t>(0xe0 | c >> 12);
            *out++ = tail(c >> 6);
            *out++ = tail(c);
        } else {
            *out++ = static_cast<std::uint8_t>(0xf0 | c >> 18);
            *out++ = tail(c >> 12);
            *out++ = tail(c >> 6);
            *out++ = tail(c);
        }
        return out;
    }

    void add_feature(FeatureKind kind, std::size_t begin, std::size_t size, double* row) {
        const std::uint8_t* bytes = utf8_.data() + kPrefixBytes + begin;
        CacheKey key;
        if (size <= kInlineBytes) {
            key = cache_key(kind, bytes, size);
            if (const Target* target = cache_.find(key)) return put(*target, row);
        }
        if (kPrefixBytes + size > kBlake2bBlock) return put(target_of(hash_long(kind, bytes, size)), row);
        std::uint8_t* block = blocks_ + waiting_ * kBlake2bBlock;
        block[0] = static_cast<std::uint8_t>(kind);
        block[1] = ':';
        std::memcpy(block + kPrefixBytes, bytes, size);
        sizes_[waiting_] = static_cast<std::uint8_t>(kPrefixBytes + size);
        waiting_keys_[waiting_] = key;
        waiting_rows_[waiting_] = row;
        if (++waiting_ == kLanes) flush();
    }

    // Two loads and two masks; encode() leaves room behind the token.
    static CacheKey cache_key(FeatureKind kind, const std::uint8_t* bytes, std::size_t size) {
        CacheKey key;
        key.low = load_masked(bytes, std::min<std::size_t>(size, 8));
        key.high = load_masked(bytes + 8, size > 8 ? size - 8 : 0) | static_cast<std::uint64_t>(kind) << 56;
        return key;
    }

    // The first `size` (0 to 8) of eight bytes, little-endian.
    static std::uint64_t load_masked(const std::uint8_t* bytes, std::size_t size) {
        return size == 0 ? 0 : load_word(bytes) & (~std::uint64_t{0} >> (64 - 8 * size));
    }

    std::uint64_t hash_long(FeatureKind kind, const std::uint8_t* bytes, std::size_t size) {
        message_.resize(kPrefixBytes + size);
        message_[0] = static_cast<std::uint8_t>(kind);
        message_[1] = ':';
        std::memcpy(message_.data() + kPrefixBytes, bytes, size);
        return blake2b_first_word(key_, message_.data(), message_.size());
    }

    Target target_of(std::uint64_t first_word) const {
        const std::uint32_t hashed = static_cast<std::uint32_t>(first_word);
        return {hashed % static_cast<std::uint32_t>(options_.dim), (first_word >> 32 & 1) != 0};
    }

    static void put(Target target, double* row) { row[target.index] += target.positive ? 1.0 : -1.0; }

    const Blake2bKey& key_;
    const HashingOptions& options_;
    const std::uint8_t* is_word_;
    FeatureCache cache_;
    std::vector<std::uint8_t> utf8_, message_;
    std::vector<std::size_t> offsets_;
    alignas(64) std::uint8_t blocks_[kLanes * kBlake2bBlock] = {};
    std::uint8_t sizes_[kLanes] = {};
    CacheKey waiting_keys_[kLanes];
    double* waiting_rows_[kLanes] = {};
    std::size_t waiting_ = 0;
};

// The sums are small integers: the norm is the same in any order of summation.
void normalise(double* row, std::size_t dim) {
    const double norm = std::sqrt(dot(row, row, dim));
    if (norm == 0.0) return;
    for (std::size_t j = 0; j < dim; ++j) row[j] /= norm;
}

std::size_t characters_of(const TextView* texts, std::size_t begin, std::size_t end) {
    std::size_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += texts[i].length;
    return sum;
}

}  // namespace

void hash_texts(const TextView* texts, std::size_t count, const std::uint8_t* is_word,
                const HashingOptions& options, double* rows, int threads) {
    std::uint8_t seed[4];
    for (int i = 0; i < 4; ++i) seed[i] = static_cast<std::uint8_t>(options.seed >> (8 * i));
    const Blake2bKey key = blake2b_key(seed, 4, 8);
    const auto piece = [&](std::size_t begin, std::size_t end) {
        RowHasher hasher(key, options, is_word, characters_of(texts, begin, end));
        std::fill(rows + begin * options.dim, rows + end * options.dim, 0.0);
        for (std::size_t i = begin; i < end; ++i) hasher.add(texts[i], rows + i * options.dim);
        hasher.flush();
        for (std::size_t i = begin; i < end; ++i) normalise(rows + i * options.dim, options.dim);
    };
    parallel_ranges(count, threads_for(threads, characters_of(texts, 0, count), kCharactersPerThread), piece);
}

}  // namespace poincare
