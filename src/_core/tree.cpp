#include "tree.hpp"

namespace poincare {

void attach_rows(const TreeLinks& links, const std::int32_t* rows, const std::int32_t* parents,
                 std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t row = rows[i];
        const std::int32_t parent = parents[i];
        links.parent[row] = parent;
        links.next_sibling[row] = -1;
        links.prev_sibling[row] = -1;
        if (parent < 0) continue;
        const std::int32_t elder = links.last_child[parent];
        links.prev_sibling[row] = elder;
        (elder < 0 ? links.first_child[parent] : links.next_sibling[elder]) = row;
        links.last_child[parent] = row;
    }
}

void detach_row(const TreeLinks& links, std::int32_t row) {
    const std::int32_t parent = links.parent[row];
    const std::int32_t elder = links.prev_sibling[row];
    const std::int32_t younger = links.next_sibling[row];
    links.parent[row] = -1;
    links.prev_sibling[row] = -1;
    links.next_sibling[row] = -1;
    if (parent < 0) return;
    (elder < 0 ? links.first_child[parent] : links.next_sibling[elder]) = younger;
    (younger < 0 ? links.last_child[parent] : links.prev_sibling[younger]) = elder;
}

std::vector<std::int32_t> linked_rows(const std::int32_t* next, std::int32_t first) {
    std::vector<std::int32_t> rows;
    for (std::int32_t row = first; row >= 0; row = next[row]) rows.push_back(row);
    return rows;
}

std::vector<std::int32_t> subtree_rows(const std::int32_t* parent, const std::int32_t* last_child,
                                       const std::int32_t* prev_sibling, std::int32_t root) {
    std::vector<std::int32_t> rows;
    std::int32_t row = root;
    while (true) {
        rows.push_back(row);
        if (last_child[row] >= 0) {
            row = last_child[row];
            continue;
        }
        while (row != root && prev_sibling[row] < 0) row = parent[row];
        if (row == root) return rows;
        row = prev_sibling[row];
    }
}

std::int64_t levels_below(const std::int64_t* parent, std::size_t n, std::int32_t* level) {
    constexpr std::int32_t kUnknown = -1;
    constexpr std::int32_t kOnTheWay = -2;
    const auto at = [level](std::int64_t node) -> std::int32_t& { return level[node]; };
    for (std::size_t i = 0; i < n; ++i) level[i] = kUnknown;
    for (std::size_t i = 0; i < n; ++i) {
        const auto start = static_cast<std::int64_t>(i);
        std::int64_t above = start;
        std::int32_t steps = 0;  // to the first node above whose level is known
        for (; above >= 0 && at(above) == kUnknown; above = parent[above], ++steps) at(above) = kOnTheWay;
        if (above >= 0 && at(above) == kOnTheWay) return above;
        std::int32_t below = (above < 0 ? -1 : at(above)) + steps;
        for (std::int64_t node = start; steps > 0; node = parent[node], --steps) at(node) = below--;
    }
    return -1;
}

}  // namespace poincare
