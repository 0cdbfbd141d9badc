// Epochs of Riemannian gradient descent on the loss of entailment cones (Ganea et al. 2018, eq. 32): a
// related pair (u, v) costs its energy E(u, v) = max(0, Ξ(u, v) − ψ(u)), an unrelated one max(0, γ − E).
#pragma once

#include <cstddef>

#include "training.hpp"

namespace poincare {

struct ConeEpochSettings {
    std::size_t below = 0, above = 0;  // negatives of a pair: with another v, with another u
    double rate = 0;
    double k = 0;       // K of the cones
    double margin = 0;  // γ
};

// Least norm of an apex: nearer to the origin cones of this K have no angle.
double smallest_apex_norm(double k);

// E(u, v), unclamped below: Ξ − ψ; where it is defined its Euclidean gradients.
double cone_excess(const double* u, const double* v, std::size_t dim, double k, double* at_u, double* at_v);

// One epoch over pairs (u, v), v in the cone of u, of rows in the ball of curvature 1; they stay between
// smallest_apex_norm and the margin of the ball. `below` lists what may not be a negative v of u, `above`
// what may not be a negative u of v. The sum of the losses.
double cone_epoch(double* points, std::size_t nodes, std::size_t dim, const TrainingPairs& pairs,
                  const ExcludedNodes& below, const ExcludedNodes& above, const ConeEpochSettings& settings,
                  RandomState random);

}  // namespace poincare
