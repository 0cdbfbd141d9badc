// Where memories lie on the disk, seen from one of them: exact however deep that one is.
// Points near the rim have no digits left for what lies between them, so a deep memory cannot be brought to the middle
// by moving points of the disk. Depth and angle still tell them apart: from these each point is placed anew.

import { translation } from "./geometry.js";

const SAME_ANGLE = 1e-12; // closer angles are one; those of different leaves are far wider apart
const LARGEST_SUM = 600; // of two depths, before products of their exponentials overflow

export class Frame {
  constructor(model) {
    const { config, count, x, y, depth } = model;
    // A two-dimensional ball is drawn as it is, scaled to the unit disk; everything else at its own depth.
    const scale = config.layout === "projection" && config.dim === 2 ? Math.sqrt(config.curvature) : 1;
    this.radius = Float64Array.from(depth, (r) => r * scale);
    this.angle = Float64Array.from(x, (value, i) => Math.atan2(y[i], value));
    this.origin = { x, y };
    this.own = { x: new Float64Array(count), y: new Float64Array(count) };
    this.reset();
  }

  // Seen from the centre of the disk.
  reset() {
    Object.assign(this, this.origin, { anchor: -1, anchorRadius: 0, anchorAngle: 0 });
  }

  // From now on seen from `row`. Returns the isometry from the frame before to this one.
  moveTo(row) {
    const [nr, ni, dr, di] = this.seen(this.radius[row], this.angle[row]);
    const cos = Math.cos(this.anchorAngle), sin = Math.sin(this.anchorAngle);
    const isometry = { ar: dr, ai: di, br: -(cos * nr - sin * ni), bi: -(cos * ni + sin * nr) };
    Object.assign(this, this.own, { anchor: row, anchorRadius: this.radius[row], anchorAngle: this.angle[row] });
    for (let i = 0; i < this.radius.length; i++) {
      const [x, y] = this.place(this.radius[i], this.angle[i]);
      this.x[i] = x;
      this.y[i] = y;
    }
    return isometry;
  }

  // The point at this depth and angle.
  place(radius, angle) {
    const [nr, ni, dr, di] = this.seen(radius, angle);
    const d = dr * dr + di * di;
    return this.turned((nr * dr + ni * di) / d, (ni * dr - nr * di) / d);
  }

  // Where the ray from the centre of the disk at this angle meets the rim.
  rim(angle) {
    const half = Math.sin(this.turnTo(angle) / 2), turn = Math.sin(this.turnTo(angle));
    const R = this.anchorRadius, near = Math.exp(-R); // everything divided by exp(R / 2)
    const cosh = (1 + near) / 2, sinh = (1 - near) / 2;
    const nr = near - 2 * half * half * cosh, ni = turn * cosh;
    const dr = near + 2 * half * half * sinh, di = -turn * sinh;
    const d = dr * dr + di * di;
    if (d === 0) return this.turned(1, 0);
    const x = (nr * dr + ni * di) / d, y = (ni * dr - nr * di) / d, length = Math.hypot(x, y) || 1;
    return this.turned(x / length, y / length);
  }

  // Three points of the circle around the centre of the disk, by which it can be drawn.
  ring(radius) {
    const R = this.anchorRadius;
    const near = Math.tanh((radius - R) / 2), far = -Math.tanh((radius + R) / 2);
    const middle = (near + far) / 2, half = (near - far) / 2;
    return [this.turned(near, 0), this.turned(far, 0), this.turned(middle, half)];
  }

  // Numerator and denominator of (z - a) / (1 - conj(a) z) for the anchor a, turned so that a lies on the real axis;
  // both times cosh cosh of half the depths, and an exponential that keeps them finite.
  seen(r, angle) {
    const R = this.anchorRadius;
    const turn = this.turnTo(angle);
    if (turn === 0) return [Math.sinh(clamped((r - R) / 2)), 0, Math.cosh(clamped((r - R) / 2)), 0];
    const half = Math.sin(turn / 2), bend = 2 * half * half, sin = Math.sin(turn);
    if (r + R <= LARGEST_SUM) {
      const shR = Math.sinh(R / 2), chR = Math.cosh(R / 2), sh = Math.sinh(r / 2);
      return [Math.sinh((r - R) / 2) - bend * sh * chR, sh * chR * sin, Math.cosh((r - R) / 2) + bend * sh * shR, -sh * shR * sin];
    }
    const p = Math.exp(-r), P = Math.exp(-R);
    const shch = ((1 - p) * (1 + P)) / 4, shsh = ((1 - p) * (1 - P)) / 4;
    return [(P - p) / 2 - bend * shch, shch * sin, (P + p) / 2 + bend * shsh, -shsh * sin];
  }

  turnTo(angle) {
    const turn = angle - this.anchorAngle;
    return Math.abs(turn) < SAME_ANGLE ? 0 : turn;
  }

  turned(x, y) {
    const cos = Math.cos(this.anchorAngle), sin = Math.sin(this.anchorAngle);
    return [cos * x - sin * y, cos * y + sin * x];
  }
}

// Half a distance whose exponential can be squared; further is on the rim anyway.
function clamped(half) {
  return Math.max(-300, Math.min(300, half));
}

// The isometry that brings the only tree's root to the middle; none for several trees.
export function homeOf({ config, roots, x, y }) {
  if (config.layout !== "structural" || roots.length !== 1) return null;
  return translation(-x[roots[0]], -y[roots[0]]);
}
