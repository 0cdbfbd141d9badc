// The entailment cone of a memory (Ganea et al. 2018): everything seen from its point within an angle of the
// direction that leads away from the centre. Half-aperture: arcsin(2 K / sinh r), r the depth at curvature 1.

// In radians; pi where the point is so near the centre that its cone is everything.
export function halfAperture(depth, curvature, k) {
  const r = Math.sqrt(curvature) * depth;
  if (Math.tanh(r / 2) < k) return Math.PI;
  return Math.asin(Math.min(1, (2 * k) / Math.sinh(r)));
}

// Where the two edges of the cone of (x, y) meet the rim; its axis meets it at (axisX, axisY). Null for everything.
export function coneEnds(x, y, axisX, axisY, halfAngle) {
  if (halfAngle >= Math.PI) return null;
  // Seen from its apex the cone is a sector.
  const [ux, uy] = rimSeenFrom(-x, -y, Math.atan2(axisY, axisX));
  const axis = Math.atan2(uy, ux);
  return [axis - halfAngle, axis + halfAngle].map((angle) => rimSeenFrom(x, y, angle));
}

// Where the translation of the centre to (x, y) takes the point of the rim at an angle.
function rimSeenFrom(x, y, angle) {
  const ux = Math.cos(angle), uy = Math.sin(angle);
  const dr = 1 + x * ux + y * uy, di = x * uy - y * ux;
  const nr = ux + x, ni = uy + y;
  const d = dr * dr + di * di;
  const endX = (nr * dr + ni * di) / d, endY = (ni * dr - nr * di) / d;
  const length = Math.hypot(endX, endY) || 1;
  return [endX / length, endY / length];
}
