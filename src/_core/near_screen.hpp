// A quick look, in float32, at which candidates may be near a query. It may take a far one for near, and
// never a near one for far: who looks again in float64 gets what a search in float64 alone would find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace poincare {

// Candidates are looked at in blocks, queries in tiles.
constexpr std::size_t kScreenBlock = 64;
constexpr std::size_t kTile = 32;

// What the look needs of the queries of a tile; see NearScreen::set.
struct ScreenedTile {
    explicit ScreenedTile(std::size_t dim) : factor((dim + 1) * kTile), less(kTile) {}
    std::vector<float> factor;  // of a candidate's coordinates and its scale, a row of queries each
    std::vector<float> less;    // what a sum has to reach
};

// |u−x|² ≤ farthest·scale[x] as a sum: 2u·x + farthest·scale[x] − |x|² ≥ |u|².
class NearScreen {
  public:
    NearScreen(const double* points, const double* scale, std::size_t nodes, std::size_t dim);

    // Query `i` of a tile: u, and the largest |u−x|²/scale[x] that counts as near.
    void set(ScreenedTile& tile, std::size_t i, const double* u, double farthest) const;

    // For the blocks of [begin, end): bit i of near[b − begin] where block b may hold a candidate that is
    // near query i.
    void look(const ScreenedTile& tile, std::size_t begin, std::size_t end, std::uint32_t* near) const;

    template <std::size_t N>
    void look_with(const ScreenedTile& tile, std::size_t begin, std::size_t end, std::uint32_t* near) const;

  private:
    std::size_t dim_;
    bool usable_;                // sums of float32 stay finite
    double rounding_;            // relative, of a sum
    std::vector<float> column_;  // of each block: coordinates, scales, and squared norms, negative
};

}  // namespace poincare
