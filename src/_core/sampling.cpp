#include "sampling.hpp"

#include <vector>

namespace poincare {

void alias_table(const double* weight, std::size_t nodes, std::uint32_t* threshold, std::int32_t* alias) {
    constexpr double kWhole = 4294967296.0;
    double sum = 0;
    for (std::size_t i = 0; i < nodes; ++i) sum += weight[i];
    // Each node has a column of height 1, filled with its own share; what is missing comes from a node that
    // has too much.
    std::vector<double> share(nodes);
    std::vector<std::size_t> poor, rich;
    for (std::size_t i = 0; i < nodes; ++i) {
        share[i] = weight[i] / sum * static_cast<double>(nodes);
        threshold[i] = UINT32_MAX;
        alias[i] = static_cast<std::int32_t>(i);
        (share[i] < 1 ? poor : rich).push_back(i);
    }
    while (!poor.empty() && !rich.empty()) {
        const std::size_t i = poor.back();
        const std::size_t donor = rich.back();
        poor.pop_back();
        threshold[i] = static_cast<std::uint32_t>(std::min(share[i] * kWhole, kWhole - 1));
        alias[i] = static_cast<std::int32_t>(donor);
        share[donor] -= 1 - share[i];
        if (share[donor] < 1) {
            rich.pop_back();
            poor.push_back(donor);
        }
    }
}

}  // namespace poincare
