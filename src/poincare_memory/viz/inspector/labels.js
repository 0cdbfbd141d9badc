// Names beside the memories; one that would cover another is left out.

import { oneLine } from "./format.js";
import { styleColour } from "./palette.js";

const FONT = "12px system-ui, sans-serif";
const HEIGHT = 15;
const MOST = 160;
const OBSTACLES = 4000;
const CELL = 48; // pixels
const LENGTH = 34;
const ROOM_FOR_RANK = 9; // beside a hit
const LENGTH_ON_PHONES = 20;
const HALO = 3.5;
// Each text runs in its own direction, so that an ellipsis stands where it ends.
const ISOLATE = "\u2068", END_OF_ISOLATE = "\u2069";

// Which memories get a name, and where: a list of { row, text, x, y }, y the middle of the line.
// `taken` are boxes (left, right, top, bottom) in which nothing may be written.
export function placeLabels(context, state, view, radii, taken) {
  const { model } = state;
  const { sx, sy, width, height } = view;
  const boxes = new Boxes(width, height);
  for (const box of taken) boxes.add(box);
  for (const i of obstacles(state, view, radii)) boxes.add(boxAround(sx[i], sy[i], radii[i]));
  context.font = FONT;
  const labels = [];
  for (const row of byImportance(state, view, radii)) {
    if (labels.length === MOST) break;
    const words = oneLine(model.texts[row], width < 500 ? LENGTH_ON_PHONES : LENGTH);
    if (!words) continue;
    const text = `${ISOLATE}${words}${END_OF_ISOLATE}`;
    const reach = radii[row] + (model.hitOf.has(row) ? ROOM_FOR_RANK : 0);
    const box = freePlace(sx[row], sy[row], reach, context.measureText(text).width, boxes, width, height);
    if (!box) continue;
    boxes.add(box);
    labels.push({ row, text, x: box.left, y: (box.top + box.bottom) / 2 });
  }
  return labels;
}

export function drawLabels(context, labels, state) {
  context.font = FONT;
  context.textBaseline = "middle";
  context.lineWidth = HALO;
  context.lineJoin = "round";
  context.strokeStyle = styleColour("disk");
  context.fillStyle = styleColour("ink");
  for (const { row, text, x, y } of labels) {
    context.globalAlpha = state.isMatch(row) ? 1 : 0.3;
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
  context.globalAlpha = 1;
}

// Cuts the names out of what is drawn above them.
export function uncoverLabels(context, labels) {
  context.font = FONT;
  context.textBaseline = "middle";
  context.lineWidth = HALO;
  context.lineJoin = "round";
  context.globalCompositeOperation = "destination-out";
  for (const { text, x, y } of labels) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
  context.globalCompositeOperation = "source-over";
}

function obstacles(state, view, radii) {
  const found = [];
  for (let i = 0; i < state.model.count && found.length < OBSTACLES; i++) {
    if (radii[i] > 2.5 && onScreen(view, i) && state.isShown(i)) found.push(i);
  }
  return found;
}

// The selected one, hits and matches before the rest, large discs before small ones.
function byImportance(state, view, radii) {
  const candidates = [];
  for (let i = 0; i < state.model.count; i++) {
    if (onScreen(view, i) && (radii[i] > 2 || state.marks?.[i]) && state.isShown(i)) candidates.push(i);
  }
  const { hitOf } = state.model;
  const rank = (i) =>
    (i === state.selected ? 10_000 : 0) + (hitOf.has(i) ? 1000 : 0) + (state.marks?.[i] ? 100 : 0) + radii[i];
  return candidates.sort((a, b) => rank(b) - rank(a)).slice(0, 4 * MOST);
}

function onScreen(view, i) {
  return view.sx[i] >= 0 && view.sx[i] <= view.width && view.sy[i] >= 0 && view.sy[i] <= view.height;
}

export function boxAround(x, y, r) {
  return { left: x - r, right: x + r, top: y - r, bottom: y + r };
}

// Right or left of the disc, whichever side points outwards; then above and below.
function freePlace(x, y, r, length, boxes, width, height) {
  const gap = r + 5;
  const right = [x + gap, y], left = [x - gap - length, y];
  const sides = x >= width / 2 ? [right, left] : [left, right];
  const places = [...sides, [x - length / 2, y - gap - HEIGHT / 2], [x - length / 2, y + gap + HEIGHT / 2]];
  for (const [startX, middle] of places) {
    const box = { left: startX, right: startX + length, top: middle - HEIGHT / 2, bottom: middle + HEIGHT / 2 };
    const inside = box.left >= 2 && box.right <= width - 2 && box.top >= 2 && box.bottom <= height - 2;
    if (inside && !boxes.meets(box)) return box;
  }
  return null;
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

// What is taken, by the cells of a grid: a look at a place asks its own cells.
class Boxes {
  constructor(width, height) {
    this.columns = Math.ceil(width / CELL) + 1;
    this.rows = Math.ceil(height / CELL) + 1;
    this.cells = Array.from({ length: this.columns * this.rows }, () => []);
  }

  add(box) {
    for (const cell of this.cellsOf(box)) cell.push(box);
  }

  meets(box) {
    return this.cellsOf(box).some((cell) => cell.some((other) => overlap(box, other)));
  }

  cellsOf({ left, right, top, bottom }) {
    const found = [];
    const within = (value, count) => Math.max(0, Math.min(count - 1, Math.floor(value / CELL)));
    for (let row = within(top, this.rows); row <= within(bottom, this.rows); row++) {
      for (let column = within(left, this.columns); column <= within(right, this.columns); column++) {
        found.push(this.cells[row * this.columns + column]);
      }
    }
    return found;
  }
}
