// Draws the disk: rim, depth rings, geodesic edges, memories. What is too small to see is not drawn.

import { circleThrough, moved } from "./geometry.js";
import { traceGeodesic } from "./paths.js";
import { Dots } from "./dots.js";
import { styleColour } from "./palette.js";

const FADES = 8; // steps of opacity
const LINES_A_STROKE = 400;
const CROWD = 3000; // above it, small memories are dots and fewer edges are drawn
const MANY = 800; // above it, they are dots while something moves
const LARGEST_DOT = 2.6;
const RINGS = 9;
const LARGEST_STANDING = 3; // how much larger the root of a crowd is drawn
const FEW = 80; // as many discs have their full size

export class Scene {
  constructor(canvas, state, view) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.state = state;
    this.view = view;
    this.radii = new Float32Array(state.model.count);
    this.standing = standingOf(state.model);
    this.dots = new Dots();
    this.refreshColours();
    this.refreshGroups();
  }

  get shownCount() {
    const { model, focused } = this.state;
    return focused < 0 ? model.count : model.size[focused];
  }

  get isCrowded() {
    return this.shownCount > CROWD;
  }

  refreshColours() {
    this.colours = this.state.colouring.colours();
    this.inks = {
      disk: styleColour("disk"),
      rim: styleColour("rim"),
      ring: styleColour("ring"),
      edge: styleColour("edge"),
    };
  }

  // Memories in drawing order: those that do not match first, the first colours last; one group a look.
  refreshGroups() {
    const { state } = this;
    const { model, weights, now, colouring } = state;
    const { count } = model;
    const colours = this.colours.length;
    const kinds = 2 * FADES * colours * 2;
    // Where the colour says the weight, nothing fades: what hardly counts any more can still be seen.
    const fades = colouring.key !== "weight";
    const keys = new Int32Array(count), starts = new Int32Array(kinds + 2);
    for (let i = 0; i < count; i++) {
      const match = state.isMatch(i) ? 1 : 0;
      const written = model.t[i] <= now ? 1 : 0;
      const fade = fades ? Math.min(FADES - 1, Math.floor(Math.sqrt(weights[i]) * FADES)) : FADES - 1;
      const colour = colours - 1 - colouring.shades[i];
      // Those outside the branch in focus come last, where no group takes them up.
      keys[i] = state.isShown(i) ? ((match * colours + colour) * 2 + written) * FADES + fade : kinds;
      starts[keys[i] + 1]++;
    }
    for (let k = 0; k <= kinds; k++) starts[k + 1] += starts[k];
    const members = new Int32Array(count), free = starts.slice();
    for (let i = count - 1; i >= 0; i--) members[free[keys[i]]++] = i;
    this.groups = [];
    for (let k = 0; k < kinds; k++) {
      if (starts[k] === starts[k + 1]) continue;
      const fade = k % FADES, written = Math.floor(k / FADES) % 2;
      const rest = Math.floor(k / FADES / 2);
      this.groups.push({
        members: members.subarray(starts[k], starts[k + 1]),
        shade: colours - 1 - (rest % colours),
        match: rest >= colours,
        written: written === 1,
        alpha: 0.16 + 0.84 * ((fade + 0.5) / FADES),
      });
    }
  }

  resize(width, height, ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (this.state.model.count > MANY) this.dots.resize(this.canvas.width, this.canvas.height);
  }

  // `hurried` while something moves: fewer edges, more dots.
  draw(hurried) {
    const { context, view } = this;
    view.update();
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    this.drawDisk(context);
    this.measure();
    this.drawEdges(context, this.isCrowded ? (hurried ? 1200 : 8000) : Infinity);
    this.hasDots = this.isCrowded || (hurried && this.shownCount > MANY);
    if (this.hasDots) this.drawDots();
    this.drawMemories(context);
  }

  // The same without pixels of its own, on any context; `between` draws what lies under the memories.
  drawOn(context, edges, between) {
    this.drawDisk(context);
    this.drawEdges(context, edges);
    between();
    this.hasDots = false;
    this.drawMemories(context);
    this.hasDots = this.isCrowded;
  }

  drawDisk(context) {
    const { view, inks } = this;
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
    for (const depth of this.rings()) {
      const ring = circleThrough(...view.frame.ring(depth).map(([x, y]) => moved(view.isometry, x, y)));
      if (!ring || ring.radius * radius < 3 || ring.radius > 1) continue;
      const [x, y] = view.toScreen(ring.x, ring.y);
      context.beginPath();
      context.arc(x, y, ring.radius * radius, 0, 2 * Math.PI);
      context.stroke();
    }
    context.setLineDash([]);
  }

  // Depths of the levels around the memory from which the disk is seen.
  rings() {
    const { model } = this.state;
    const { frame } = this.view;
    const { base_depth: base, depth_step: step } = model.config;
    if (!model.count) return [];
    const scale = frame.radius[0] / model.depth[0] || 1;
    const here = frame.anchor < 0 ? 0 : model.level[frame.anchor];
    const depths = [];
    for (let level = Math.max(0, here - RINGS); level <= Math.min(model.maxLevel, here + RINGS); level++) {
      depths.push((base + level * step) * scale);
    }
    return depths;
  }

  // A disc shrinks with the metric: towards the rim the same hyperbolic size takes fewer pixels.
  measure() {
    const { view, radii } = this;
    const { wx, wy } = view;
    const crowding = Math.min(1, Math.pow(FEW / this.shownCount, 0.22));
    const size = 11 * crowding * Math.sqrt(Math.min(view.magnification, 9)) * (view.radius < 250 ? 0.8 : 1);
    const least = this.isCrowded ? Math.max(0.6, 2 * crowding) : 2.4;
    const standing = LARGEST_STANDING * (1 - crowding);
    for (let i = 0; i < radii.length; i++) {
      const inside = 1 - wx[i] * wx[i] - wy[i] * wy[i]; // rounding may take a deep memory beyond the rim
      const own = size * (1 + standing * this.standing[i]);
      radii[i] = inside > 0 ? Math.max(least, own * Math.pow(inside, 0.6)) : least;
    }
  }

  drawEdges(context, budget) {
    const { view, state, inks } = this;
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

  // Pixels, straight; 0 for an edge that is out of sight or leads out of the branch in focus.
  edgeLength(i, p) {
    const { sx, sy, width, height } = this.view;
    const { state } = this;
    if (state.focused >= 0 && (i === state.focused || !state.isShown(i))) return 0;
    if ((sx[i] < 0 && sx[p] < 0) || (sx[i] > width && sx[p] > width)) return 0;
    if ((sy[i] < 0 && sy[p] < 0) || (sy[i] > height && sy[p] > height)) return 0;
    const across = sx[i] - sx[p], down = sy[i] - sy[p];
    return Math.sqrt(across * across + down * down); // in no direction longer than in another; hypot is slower
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

  drawDots() {
    const { context, colours, view, dots, radii } = this;
    dots.clear();
    for (const group of this.groups) {
      const alpha = (group.match ? 1 : 0.12) * group.alpha;
      dots.add(group.members, view.sx, view.sy, radii, LARGEST_DOT, this.ratio, colours[group.shade], alpha);
    }
    dots.drawOnto(context);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
  }

  drawMemories(context) {
    for (const group of this.groups) this.drawDiscs(context, group, this.colours[group.shade]);
    context.globalAlpha = 1;
  }

  drawDiscs(context, group, colour) {
    const { view, radii, inks } = this;
    const { sx, sy, width, height } = view;
    context.beginPath();
    let discs = 0;
    for (const i of group.members) {
      const r = radii[i];
      if (this.hasDots && r < LARGEST_DOT) continue;
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

// From 0 for a leaf to 1 for a root of everything: in a crowd, what much hangs on stands out.
function standingOf({ size, count }) {
  const whole = Math.log(Math.max(2, count));
  return Float32Array.from(size, (below) => Math.log(below) / whole);
}
