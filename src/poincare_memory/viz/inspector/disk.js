// The disk: one canvas for the memories, one above it for what is selected, pointed at or found.

import { boxAround, drawLabels, placeLabels } from "./labels.js";
import { Gestures } from "./gestures.js";
import { Lookup } from "./lookup.js";
import { BADGE, Overlay } from "./overlay.js";
import { Scene } from "./scene.js";
import { View } from "./view.js";
import { element, formatWeight, oneLine } from "./format.js";

export const HOVER_RANGE = 7; // pixels around a disc that still are the disc
const GLIDE = 420; // milliseconds

export class Disk {
  constructor(stage, state) {
    const host = stage.querySelector("#frame");
    this.state = state;
    this.host = host;
    this.view = new View(state.model);
    this.ground = host.querySelector("#ground");
    this.canvas = host.querySelector("#overlay");
    this.tip = host.querySelector("#tip");
    this.corners = [...stage.querySelectorAll(".corner")];
    this.scene = new Scene(this.ground, state, this.view);
    this.overlay = new Overlay(this.canvas, state, this.view, this.scene);
    this.lookup = new Lookup();
    this.lookupIsFresh = false;
    this.showLabels = false;
    this.moving = false;
    this.touched = -1; // selected with a finger, which points at nothing when it is gone
    this.journey = 0;
    this.frame = 0;
    this.listen();
    new Gestures(this.canvas, this);
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  listen() {
    const { state } = this;
    for (const kind of ["time", "filter"]) state.on(kind, () => this.regroup());
    state.on("colours", () => {
      this.scene.refreshColours();
      this.regroup();
    });
    state.on("focus", () => {
      this.regroup();
      if (state.focused >= 0) this.centre(state.focused);
    });
    state.on("selection", () => this.redraw());
    state.on("pointed", () => this.drawOverlay());
  }

  resize() {
    const width = this.host.clientWidth, height = this.host.clientHeight;
    if (!width || !height) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.view.resize(width, height);
    this.scene.resize(width, height, ratio);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.drawNow();
  }

  get isVisible() {
    return this.host.clientWidth > 0;
  }

  regroup() {
    this.scene.refreshGroups();
    this.redraw();
  }

  redraw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.scene.draw(this.moving);
    this.lookupIsFresh = false;
    this.overlay.labels = this.showLabels ? this.labels() : [];
    drawLabels(this.scene.context, this.overlay.labels, this.state);
    this.drawOverlay();
  }

  // Where names are written: nowhere over a disc, another name or a corner with controls.
  labels() {
    const taken = this.corners.map((corner) => ({
      left: corner.offsetLeft,
      right: corner.offsetLeft + corner.offsetWidth,
      top: corner.offsetTop,
      bottom: corner.offsetTop + corner.offsetHeight,
    }));
    taken.push(...this.overlay.badges().map(({ x, y }) => boxAround(x, y, BADGE)));
    return placeLabels(this.scene.context, this.state, this.view, this.scene.radii, taken);
  }

  drawOverlay() {
    this.overlay.draw();
    this.placeTip();
  }

  placeTip() {
    const { state, tip, view } = this;
    const row = state.pointed < 0 && this.touched === state.selected ? this.touched : state.pointed;
    const shown = row >= 0 && !this.moving && this.isVisible;
    tip.hidden = !shown;
    if (!shown) return;
    const { model } = state;
    const hit = model.hitOf.get(row);
    const facts = [
      hit ? `hit ${hit.rank}, score ${hit.score.toFixed(3)}` : "",
      `level ${model.level[row]}`,
      `depth ${model.depth[row].toFixed(2)}`,
      `weight ${formatWeight(state.weights[row])}`,
    ];
    tip.replaceChildren(
      element("strong", {}, oneLine(model.texts[row], 140) || "(no text)"),
      element("span", {}, facts.filter(Boolean).join(" · ")),
    );
    const x = view.sx[row], y = view.sy[row];
    const left = x + tip.offsetWidth + 24 > view.width ? x - tip.offsetWidth - 14 : x + 14;
    tip.style.left = `${Math.max(4, Math.min(left, view.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 14, view.height - tip.offsetHeight - 4))}px`;
  }

  rowUnder(x, y, margin = HOVER_RANGE) {
    const { view, lookup, state } = this;
    if (!this.lookupIsFresh) {
      lookup.build(view.sx, view.sy, view.width, view.height, (row) => state.isShown(row));
      this.lookupIsFresh = true;
    }
    return lookup.nearest(x, y, this.scene.radii, margin);
  }

  // The memory nearest to the middle of the screen; -1 where none is shown.
  rowInTheMiddle() {
    const { view, state } = this;
    let best = -1, least = Infinity;
    for (let i = 0; i < state.model.count; i++) {
      const distance = Math.hypot(view.sx[i] - view.width / 2, view.sy[i] - view.height / 2);
      if (distance < least && state.isShown(i)) [best, least] = [i, distance];
    }
    return best;
  }

  // While something moves, fewer edges are drawn and nothing is pointed at.
  startMoving() {
    if (this.moving) return;
    this.moving = true;
    this.canvas.classList.add("dragging");
    this.state.point(-1);
  }

  stopMoving() {
    if (!this.moving) return;
    this.moving = false;
    this.canvas.classList.remove("dragging");
    this.redraw();
  }

  // A hand on the disk ends a journey that is under way.
  interrupt() {
    this.journey++;
  }

  // Glides until the memory is in the middle.
  centre(row) {
    const start = this.view.departure(row);
    this.glide((part) => this.view.approach(start, row, part));
  }

  // Calls `place(part)` with parts that grow to 1.
  glide(place) {
    const length = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : GLIDE;
    const began = performance.now();
    const journey = ++this.journey;
    this.startMoving();
    const step = () => {
      if (journey !== this.journey) return;
      const part = length ? Math.min(1, (performance.now() - began) / length) : 1;
      place(1 - Math.pow(1 - part, 3));
      if (part < 1) requestAnimationFrame(step);
      else this.stopMoving();
      this.redraw();
    };
    step();
  }

  zoom(factor) {
    this.interrupt();
    this.view.zoom(factor, this.view.width / 2, this.view.height / 2);
    this.redraw();
  }

  reset() {
    this.interrupt();
    this.stopMoving();
    this.view.reset();
    this.redraw();
  }
}
