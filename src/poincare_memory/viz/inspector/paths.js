// Geodesics as paths on a canvas.

import { geodesic } from "./geometry.js";

// The geodesic between two memories.
export function traceGeodesic(context, view, p, q) {
  const { sx, sy, wx, wy } = view;
  context.moveTo(sx[p], sy[p]);
  continueGeodesic(context, view, wx[p], wy[p], wx[q], wy[q]);
}

// Goes on to (qx, qy) from (px, py), where the path is; both on the disk as it is moved now.
export function continueGeodesic(context, view, px, py, qx, qy) {
  const arc = arcBetween(view, px, py, qx, qy);
  if (arc) context.arc(arc.x, arc.y, arc.radius, arc.from, arc.to, arc.turn < 0);
  else context.lineTo(...view.toScreen(qx, qy));
}

// The geodesic as an arc on the screen; null where it bends by less than a quarter of a pixel.
export function arcBetween(view, px, py, qx, qy) {
  const [fromX, fromY] = view.toScreen(px, py), [toX, toY] = view.toScreen(qx, qy);
  const span = Math.hypot(fromX - toX, fromY - toY);
  const circle = span > 5 ? geodesic(px, py, qx, qy) : null;
  if (!circle) return null;
  const radius = circle.radius * view.radius;
  if (span * span < 2 * radius) return null;
  const [x, y] = view.toScreen(circle.x, circle.y);
  const from = Math.atan2(fromY - y, fromX - x), to = Math.atan2(toY - y, toX - x);
  const turn = ((to - from + 3 * Math.PI) % (2 * Math.PI)) - Math.PI;
  return { x, y, radius, from, to, turn };
}
