// Draws the disk: rim, depth rings, geodesic edges, memories. What is too small to see is not drawn.

import { imageOfCircle, geodesic } from "./geometry.js";
import { Dots } from "./dots.js";
import { levelColours, styleColour } from "./palette.js";

const SHADES = 8;
const LINES_A_STROKE = 400;
const CROWD = 3000; // above it, small memories are dots and fewer edges are drawn
const LARGEST_DOT = 2.6;
const RINGS = 9;

export class Scene {
  constructor(canvas, state, view) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.state = state;
    this.view = view;
    this.radii = new Float32Array(state.model.count);
    this.isCrowded = state.model.count > CROWD;
    this.dots = new Dots();
    this.rings = this.findRings();
    this.refreshColours();
    this.refreshGroups();
  }

  refreshColours() {
    this.colours = levelColours();
    this.inks = {
      disk: styleColour("disk"),
      rim: styleColour("rim"),
      ring: styleColour("ring"),
      edge: styleColour("edge"),
      hollow: styleColour("panel"),
    };
  }

  // Memories in drawing order: those that do not match first, the shallow ones last; one group a look.
  refreshGroups() {
    const { model, weights, now } = this.state;
    const { count, level } = model;
    const colours = this.colours.length;
    const kinds = 2 * SHADES * colours * 2;
    const keys = new Int32Array(count), starts = new Int32Array(kinds + 1);
    for (let i = 0; i < count; i++) {
      const match = this.state.isMatch(i) ? 1 : 0;
      const written = model.t[i] <= now ? 1 : 0;
      const shade = Math.min(SHADES - 1, Math.floor(Math.sqrt(weights[i]) * SHADES));
      const colour = colours - 1 - (level[i] % colours);
      keys[i] = ((match * colours + colour) * 2 + written) * SHADES + shade;
      starts[keys[i] + 1]++;
    }
    for (let k = 0; k < kinds; k++) starts[k + 1] += starts[k];
    const members = new Int32Array(count), free = starts.slice();
    for (let i = count - 1; i >= 0; i--) members[free[keys[i]]++] = i;
    this.groups = [];
    for (let k = 0; k < kinds; k++) {
      if (starts[k] === starts[k + 1]) continue;
      const shade = k % SHADES, written = Math.floor(k / SHADES) % 2;
      const rest = Math.floor(k / SHADES / 2);
      this.groups.push({
        members: members.subarray(starts[k], starts[k + 1]),
        level: colours - 1 - (rest % colours),
        match: rest >= colours,
        written: written === 1,
        alpha: 0.16 + 0.84 * ((shade + 0.5) / SHADES),
      });
    }
  }

  resize(width, height, ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (this.isCrowded) this.dots.resize(this.canvas.width, this.canvas.height);
  }

  // `hurried` while something moves: fewer edges.
  draw(hurried) {
    const { context, view, state } = this;
    const { model } = state;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    this.drawDisk();
    view.update(model.x, model.y);
    this.measure();
    this.drawEdges(this.isCrowded ? (hurried ? 1200 : 8000) : Infinity);
    this.drawMemories();
  }

  drawDisk() {
    const { context, view, inks } = this;
    const { radius } = view;
    context.beginPath();
    context.arc(view.centreX, view.centreY, radius, 0, 2 * Math.PI);
    context.fillStyle = inks.disk;
    context.fill();
    context.strokeStyle = inks.rim;
    context.lineWidth = 1.25;
    context.stroke();
    context.strokeStyle = inks.ring;
    context.lineWidth = 1;
    context.setLineDash([2, 5]);
    for (const rho of this.rings) {
      const ring = imageOfCircle(view.isometry, rho);
      if (ring.radius * radius < 3) continue;
      const [x, y] = view.toScreen(ring.x, ring.y);
      context.beginPath();
      context.arc(x, y, ring.radius * radius, 0, 2 * Math.PI);
      context.stroke();
    }
    context.setLineDash([]);
  }

  // How far from the centre each of the upper levels lies.
  findRings() {
    const { model } = this.state;
    const radii = new Map();
    for (let i = 0; i < model.count && radii.size < RINGS; i++) {
      const level = model.level[i];
      if (level < RINGS && !radii.has(level)) radii.set(level, Math.hypot(model.x[i], model.y[i]));
    }
    return [...radii.values()];
  }

  // A disc shrinks with the metric: towards the rim the same hyperbolic size takes fewer pixels.
  measure() {
    const { view, radii } = this;
    const { wx, wy } = view;
    const crowding = Math.min(1, Math.pow(400 / radii.length, 0.2));
    const size = 11 * crowding * Math.sqrt(Math.min(view.magnification, 9)) * (view.radius < 250 ? 0.8 : 1);
    const least = this.isCrowded ? Math.max(0.6, 1.4 * crowding) : 2.6;
    for (let i = 0; i < radii.length; i++) {
      radii[i] = Math.max(least, size * Math.pow(1 - wx[i] * wx[i] - wy[i] * wy[i], 0.6));
    }
  }

  drawEdges(budget) {
    const { context, view, state, inks } = this;
    const { parent } = state.model;
    const shortest = this.shortestEdge(budget);
    const filtered = state.marks !== null;
    context.strokeStyle = inks.edge;
    context.lineWidth = 1;
    context.globalAlpha = (filtered ? 0.45 : 1) * (this.isCrowded ? 0.4 : 1);
    context.beginPath();
    let lines = 0;
    for (let i = 0; i < parent.length; i++) {
      const p = parent[i];
      if (p < 0 || this.edgeLength(i, p) < shortest) continue;
      traceGeodesic(context, view, p, i);
      if (++lines % LINES_A_STROKE === 0) {
        context.stroke();
        context.beginPath();
      }
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  edgeLength(i, p) {
    const { sx, sy, width, height } = this.view;
    if ((sx[i] < 0 && sx[p] < 0) || (sx[i] > width && sx[p] > width)) return 0;
    if ((sy[i] < 0 && sy[p] < 0) || (sy[i] > height && sy[p] > height)) return 0;
    return Math.abs(sx[i] - sx[p]) + Math.abs(sy[i] - sy[p]);
  }

  // The length in pixels below which edges are left out, so that at most `budget` are drawn.
  shortestEdge(budget) {
    const { parent } = this.state.model;
    if (parent.length <= budget) return 0.5;
    const counts = new Int32Array(1025);
    for (let i = 0; i < parent.length; i++) {
      if (parent[i] < 0) continue;
      counts[Math.min(1024, Math.floor(2 * this.edgeLength(i, parent[i])))]++;
    }
    let length = 1024;
    for (let total = counts[1024]; length > 1 && total + counts[length - 1] <= budget; length--) {
      total += counts[length - 1];
    }
    return length / 2;
  }

  drawMemories() {
    const { context, colours, view, dots, radii } = this;
    if (this.isCrowded) {
      dots.clear();
      for (const group of this.groups) {
        const alpha = (group.match ? 1 : 0.12) * group.alpha;
        dots.add(group.members, view.sx, view.sy, radii, LARGEST_DOT, this.ratio, colours[group.level], alpha);
      }
      dots.drawOnto(context);
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    }
    for (const group of this.groups) this.drawDiscs(group, colours[group.level]);
    context.globalAlpha = 1;
  }

  drawDiscs(group, colour) {
    const { context, view, radii, inks } = this;
    const { sx, sy, width, height } = view;
    context.beginPath();
    let discs = 0;
    for (const i of group.members) {
      const r = radii[i];
      if (this.isCrowded && r < LARGEST_DOT) continue;
      if (sx[i] < -r || sx[i] > width + r || sy[i] < -r || sy[i] > height + r) continue;
      context.moveTo(sx[i] + r, sy[i]);
      context.arc(sx[i], sy[i], r, 0, 2 * Math.PI);
      discs++;
    }
    if (!discs) return;
    const alpha = (group.match ? 1 : 0.12) * group.alpha;
    // The ground first, so that no edge shines through a faded memory.
    context.globalAlpha = group.match ? 1 : 0.5;
    context.fillStyle = inks.disk;
    context.fill();
    context.globalAlpha = alpha;
    context.fillStyle = colour;
    if (group.written) context.fill();
    context.globalAlpha = group.match ? Math.min(1, 0.45 + alpha * 0.55) : alpha;
    context.strokeStyle = colour;
    context.lineWidth = 1.25;
    context.setLineDash(group.written ? [] : [2, 2]);
    context.stroke();
    context.setLineDash([]);
  }
}

// Adds the geodesic between two memories to the current path.
export function traceGeodesic(context, view, p, q) {
  const { sx, sy, wx, wy } = view;
  context.moveTo(sx[p], sy[p]);
  const span = Math.hypot(sx[p] - sx[q], sy[p] - sy[q]);
  const circle = span > 5 ? geodesic(wx[p], wy[p], wx[q], wy[q]) : null;
  const radius = circle ? circle.radius * view.radius : Infinity;
  if (span * span < 2 * radius) {
    context.lineTo(sx[q], sy[q]); // bends by less than a quarter of a pixel
    return;
  }
  const [x, y] = view.toScreen(circle.x, circle.y);
  const from = Math.atan2(sy[p] - y, sx[p] - x), to = Math.atan2(sy[q] - y, sx[q] - x);
  const turn = ((to - from + 3 * Math.PI) % (2 * Math.PI)) - Math.PI;
  context.arc(x, y, radius, from, to, turn < 0);
}
