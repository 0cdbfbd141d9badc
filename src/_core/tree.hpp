// Trees kept as links in columns: row numbers, -1 where there is none. No function recurses, and none needs
// a stack: every walk goes along the links themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace poincare {

struct TreeLinks {
    std::int32_t* parent = nullptr;
    std::int32_t* first_child = nullptr;
    std::int32_t* last_child = nullptr;
    std::int32_t* next_sibling = nullptr;
    std::int32_t* prev_sibling = nullptr;
};

// Makes rows[i] the last child of parents[i], in turn; a parent of -1 makes it a root without siblings.
void attach_rows(const TreeLinks& links, const std::int32_t* rows, const std::int32_t* parents,
                 std::size_t n);

// Cuts a row, with its subtree, from its parent.
void detach_row(const TreeLinks& links, std::int32_t row);

// Along one kind of link from `first`: the children of a row (next_sibling), its ancestors (parent).
std::vector<std::int32_t> linked_rows(const std::int32_t* next, std::int32_t first);

// A row and all below it in pre-order, the last child's branch first.
std::vector<std::int32_t> subtree_rows(const std::int32_t* parent, const std::int32_t* last_child,
                                       const std::int32_t* prev_sibling, std::int32_t root);

// Level of each node, 0 at a root, of trees that are told by their parents alone (positions, -1 at a root).
// Returns -1, or a node that comes back to itself; the levels are of no use then.
std::int64_t levels_below(const std::int64_t* parent, std::size_t n, std::int32_t* level);

}  // namespace poincare
