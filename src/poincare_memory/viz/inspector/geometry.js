// The isometries of the unit disk that keep orientation, and its geodesics.
// An isometry is {ar, ai, br, bi}: z -> (a z + b) / (conj(b) z + conj(a)), with |a|^2 - |b|^2 = 1.

export const IDENTITY = Object.freeze({ ar: 1, ai: 0, br: 0, bi: 0 });

// Beyond this the pointer is treated as being on the rim: no isometry moves a point onto the boundary.
const RIM = 0.9995;

// The translation along a line through the centre that moves the centre to (x, y).
export function translation(x, y) {
  const scale = 1 / Math.sqrt(Math.max(1e-12, 1 - x * x - y * y));
  return { ar: scale, ai: 0, br: x * scale, bi: y * scale };
}

export function inverse(f) {
  return { ar: f.ar, ai: -f.ai, br: -f.br, bi: -f.bi };
}

// f after g, rescaled so that rounding does not add up over a long drag.
export function compose(f, g) {
  const ar = f.ar * g.ar - f.ai * g.ai + f.br * g.br + f.bi * g.bi;
  const ai = f.ar * g.ai + f.ai * g.ar - f.br * g.bi + f.bi * g.br;
  const br = f.ar * g.br - f.ai * g.bi + f.br * g.ar + f.bi * g.ai;
  const bi = f.ar * g.bi + f.ai * g.br - f.br * g.ai + f.bi * g.ar;
  const scale = 1 / Math.sqrt(Math.max(1e-300, ar * ar + ai * ai - br * br - bi * bi));
  return { ar: ar * scale, ai: ai * scale, br: br * scale, bi: bi * scale };
}

// Turning alone: what remains of an isometry where the frame has taken over its translation.
export function turning(f) {
  const length = Math.hypot(f.ar, f.ai) || 1;
  return { ar: f.ar / length, ai: f.ai / length, br: 0, bi: 0 };
}

export function moved(f, x, y) {
  const nr = f.ar * x - f.ai * y + f.br;
  const ni = f.ar * y + f.ai * x + f.bi;
  const dr = f.br * x + f.bi * y + f.ar;
  const di = f.br * y - f.bi * x - f.ai;
  const d = dr * dr + di * di || 1e-300;
  return [(nr * dr + ni * di) / d, (ni * dr - nr * di) / d];
}

export function moveAll(f, xs, ys, outX, outY) {
  const { ar, ai, br, bi } = f;
  for (let i = 0; i < xs.length; i++) {
    const x = xs[i], y = ys[i];
    const nr = ar * x - ai * y + br, ni = ar * y + ai * x + bi;
    const dr = br * x + bi * y + ar, di = br * y - bi * x - ai;
    const d = dr * dr + di * di || 1e-300;
    outX[i] = (nr * dr + ni * di) / d;
    outY[i] = (ni * dr - nr * di) / d;
  }
}

export function insideRim(x, y) {
  const length = Math.hypot(x, y);
  return length <= RIM ? [x, y] : [(x / length) * RIM, (y / length) * RIM];
}

// The translation through the centre that moves p to q: what keeps a dragged point under the pointer.
// From (p + b) / (1 + conj(b) p) = q follows b = (w + p q conj(w)) / (1 - |p q|^2) with w = q - p.
export function dragging(px, py, qx, qy) {
  const wx = qx - px, wy = qy - py;
  const mx = px * qx - py * qy, my = px * qy + py * qx;
  const scale = 1 / Math.max(1e-12, 1 - mx * mx - my * my);
  const [bx, by] = insideRim((wx + mx * wx + my * wy) * scale, (wy + my * wx - mx * wy) * scale);
  return translation(bx, by);
}

// The part `fraction` of the translation that moves (x, y) to the centre.
export function towardsCentre(x, y, fraction) {
  const length = Math.hypot(x, y);
  if (length < 1e-12) return IDENTITY;
  const step = Math.tanh(fraction * Math.atanh(Math.min(length, 1 - 1e-15)));
  return translation((-x / length) * step, (-y / length) * step);
}

// The circle that meets the rim at right angles and passes through p and q; null where that is a straight line.
export function geodesic(px, py, qx, qy) {
  const turn = px * qy - py * qx;
  if (Math.abs(turn) < 1e-10) return null;
  const p = 1 + px * px + py * py, q = 1 + qx * qx + qy * qy;
  const x = (qy * p - py * q) / (2 * turn), y = (px * q - qx * p) / (2 * turn);
  const radius = Math.sqrt(Math.max(0, x * x + y * y - 1));
  return { x, y, radius };
}

// The circle through three points; null where they lie on a line, or nearly.
export function circleThrough([ax, ay], [bx, by], [cx, cy]) {
  const px = bx - ax, py = by - ay, qx = cx - ax, qy = cy - ay;
  const area = 2 * (px * qy - py * qx);
  if (Math.abs(area) < 1e-12) return null;
  const p = px * px + py * py, q = qx * qx + qy * qy;
  const x = (qy * p - py * q) / area, y = (px * q - qx * p) / area;
  return { x: ax + x, y: ay + y, radius: Math.hypot(x, y) };
}
