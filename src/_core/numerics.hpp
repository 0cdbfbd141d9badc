// The only home of clamps, margins and limits, and of the constants of mathematics that formulas share.
// Python reads them from the built module.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLn2 = 0.69314718055994530942;
constexpr double kLn4 = 1.38629436111989061883;

// Distance kept from the boundary by `project` and by RSGD, per storage type.
constexpr double kBallEpsFloat64 = 1e-5;
constexpr double kBallEpsFloat32 = 4e-3;
constexpr double kBallEpsFloat16 = 1e-2;

// Largest norm, in units of the ball's radius, that a point is given: four units in the last place below 1,
// so that rounding the components cannot carry it out of the ball. Hyperbolic radius 36.04, 15.94 and 6.93.
constexpr double kLargestNormFloat64 = 1.0 - 0x1p-51;
constexpr double kLargestNormFloat32 = 1.0 - 0x1p-22;
constexpr double kLargestNormFloat16 = 1.0 - 0x1p-9;

// Largest argument that the public artanh accepts before it clamps, per storage type.
constexpr double kAtanhClampFloat64 = 1.0 - 1e-15;
constexpr double kAtanhClampFloat32 = 1.0 - 1e-7;
constexpr double kAtanhClampFloat16 = 1.0 - 1e-3;

constexpr double kTanhClamp = 15.0;  // the public tanh clips its argument to ±15
constexpr double kTiny = 1e-15;      // guard of the public safe_div

constexpr double kDefaultConeK = 0.1;    // K of the entailment cones (Ganea et al. 2018)
constexpr double kConeTolerance = 1e-9;  // energy up to which a point counts as inside its cone
constexpr double kMinWeight = 1e-6;      // floor of every time weight
constexpr double kLogMinWeight = -13.815510557964274104;  // ln(kMinWeight)
constexpr double kLogSpaceRadius = 40;  // √c·(r+s) from which distances are ranked by ln q (design §3)

// Squares between these are sums of squares of ordinary numbers: nothing in them left float64.
constexpr double kSafeSquareLow = 1e-280;
constexpr double kSafeSquareHigh = 1e280;
constexpr double kLargestSinh = 1e75;       // of a radius whose formula may square sinh once more
constexpr double kSmallestSinh = 1e-130;    // below, sinh R is R
constexpr double kSmallestLength = 1e-150;  // of a point that a dot product may be divided by
constexpr double kLargestProduct = 1e250;   // of likelihood ratios, before its logarithm is taken

constexpr double kCompensatedMargin =
    0x1p-14;  // distance from the boundary below which 1 − c|x|² takes two doubles
constexpr double kNextToBoundary = 1e-4;    // margins whose difference has more digits than that of the norms
constexpr double kPlainCosine = 0.75;       // cosine up to which both chords follow from it
constexpr double kNearlyParallel = 0.9;     // cosine from which a chord is summed, not 2 − 2·cos
constexpr double kSafelyLong = 0.1;         // squared length of a sum of unit vectors far from cancelling
constexpr double kCancelledSquare = 1e-26;  // squared length that is left of unit vectors which cancelled
constexpr double kConeMargin = 1e-12;       // share of the cone's angle that its wall keeps free
constexpr double kShortChord = 1e-6;        // chord² that is left to the exact test of the cone
constexpr double kDirectionNoise = 5e-16;   // rounding of a unit vector, as an angle
constexpr double kLargestPointNorm = 1.0 - 2e-15;  // √c·norm of stored points that tanh would round to 1

// What bounds from float32 give away, so that rounding cannot make them wrong.
constexpr double kChordSlack = 4e-9;          // of a chord², for norms within 1e-9 of 1
constexpr double kBoundShrink = 1 - 1e-12;    // factor of a lower bound of a distance
constexpr double kBoundSlack = 1e-11;         // and what is taken off it
constexpr double kRankRounding = 1 + 1e-14;   // more than a product and a quotient can differ by rounding
constexpr double kGraphLargestRadius = 40.0;  // √c·r of a graph's row: q of two stays finite in float32
constexpr std::size_t kGraphLeastOfBand =
    24;                                  // nodes a band is searched for, though they be farther than k others
constexpr double kGraphBandWidth = 0.5;  // √c·r from the one end to the other of what one graph holds
constexpr double kShortestNormalDraw = 1e-6;  // squared length of a random vector that still has a direction

constexpr double kLargestSinhArgument = 300;  // beyond, the layout takes logarithms
constexpr double kLargestRadius = 1e300;      // of the layout: sums of radii stay finite
constexpr float kLeastSquaredGap = 1e-6f;     // of directions that repel each other, in float32
constexpr float kLargestRepulsion = 0x1p56f;  // and 1/it the least: squares stay normal numbers

// "No instant": an absent valid_from, valid_until or last_accessed in an int64 microsecond column.
constexpr std::int64_t kMissingInstant = INT64_MIN;

}  // namespace poincare
