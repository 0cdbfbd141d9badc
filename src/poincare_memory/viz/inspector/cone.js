// The entailment cone of a memory (Ganea et al. 2018): everything seen from its point within an angle of the
// direction that leads away from the centre. Half-aperture: arcsin(2 K / sinh r), r the depth at curvature 1.

import { moved } from "./geometry.js";

// In radians; pi where the point is so near the centre that its cone is everything.
export function halfAperture(depth, curvature, k) {
  const r = Math.sqrt(curvature) * depth;
  if (Math.tanh(r / 2) < k) return Math.PI;
  return Math.asin(Math.min(1, (2 * k) / Math.sinh(r)));
}

// Where the two edges of the cone and its axis meet the rim, on the disk as it is moved now; null for everything.
export function coneEnds(x, y, halfAngle, isometry) {
  if (halfAngle >= Math.PI || x * x + y * y < 1e-24) return null;
  const axis = Math.atan2(y, x);
  return [axis - halfAngle, axis, axis + halfAngle].map((angle) => {
    // The ray that leaves (x, y) at this angle ends where the translation of the centre there takes the rim.
    const [endX, endY] = rimSeenFrom(x, y, angle);
    const [mx, my] = moved(isometry, endX, endY);
    const length = Math.hypot(mx, my) || 1;
    return [mx / length, my / length];
  });
}

function rimSeenFrom(x, y, angle) {
  const ux = Math.cos(angle), uy = Math.sin(angle);
  const dr = 1 + x * ux + y * uy, di = x * uy - y * ux;
  const nr = ux + x, ni = uy + y;
  const d = dr * dr + di * di;
  return [(nr * dr + ni * di) / d, (ni * dr - nr * di) / d];
}
