// Memory of large arrays that are read at random: in huge pages where the system has them, so that looking an
// address up does not take longer than the read. Elements are not set to anything.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace poincare {

template <typename T>
struct HugePages {
    using value_type = T;
    static constexpr std::size_t kPage = std::size_t{1} << 21;  // bytes

    HugePages() = default;
    template <typename U>
    HugePages(const HugePages<U>&) {}

    T* allocate(std::size_t n) {
#ifdef __linux__
        const std::size_t bytes = n * sizeof(T);
        if (bytes >= 2 * kPage) {
            const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
            void* const memory = std::aligned_alloc(kPage, whole);
            if (memory == nullptr) throw std::bad_alloc();
            madvise(memory, whole, MADV_HUGEPAGE);
            return static_cast<T*>(memory);
        }
#endif
        return static_cast<T*>(allocate_small(n));
    }
    void deallocate(T* memory, std::size_t) { std::free(memory); }

    template <typename U>
    void construct(U* at) {
        ::new (static_cast<void*>(at)) U;
    }
    template <typename U, typename... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    }

    friend bool operator==(const HugePages&, const HugePages&) { return true; }
    friend bool operator!=(const HugePages&, const HugePages&) { return false; }

  private:
    static void* allocate_small(std::size_t n) {
        void* const memory = std::malloc(n == 0 ? 1 : n * sizeof(T));
        if (memory == nullptr) throw std::bad_alloc();
        return memory;
    }
};

}  // namespace poincare
