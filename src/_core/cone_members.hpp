// Which memories lie inside the entailment cone of one of them (Ganea, Bécigneul & Hofmann 2018).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes.hpp"

namespace poincare {

struct ConeColumns {
    const double* direction = nullptr;
    CodedRows coded{};  // of `direction`; null codes: every row is tested exactly
    const double* radius = nullptr;
    const std::uint8_t* directed = nullptr;
    std::size_t dim = 0;
};

struct ConeMembers {
    std::vector<std::int32_t> rows;
    std::vector<double> energies;
};

// Rows with energy at most kConeTolerance, without the apex, in the order of `rows` (null: 0 … count − 1).
// A row without direction is the point at the origin.
ConeMembers cone_members(const ConeColumns& columns, const std::int32_t* rows, std::size_t count,
                         std::int32_t apex, double K, double sqrt_c, int threads);

}  // namespace poincare
