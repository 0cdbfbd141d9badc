// The disk: one canvas for the memories, one above it for what is selected or pointed at, and the pointer.

import { ancestorsOf, childrenOf } from "./model.js";
import { drawLabels } from "./labels.js";
import { Lookup } from "./lookup.js";
import { styleColour } from "./palette.js";
import { Scene, traceGeodesic } from "./scene.js";
import { View } from "./view.js";
import { element, formatWeight, oneLine } from "./format.js";

const CLICK_RANGE = 4;
const HOVER_RANGE = 7;
const KEY_STEP = 0.12;
const FAMILY = 500; // children whose edges are lit up

export class Disk {
  constructor(host, state) {
    this.state = state;
    this.view = new View(state.model.count);
    this.host = host;
    this.ground = host.querySelector("#ground");
    this.overlay = host.querySelector("#overlay");
    this.tip = host.querySelector("#tip");
    this.scene = new Scene(this.ground, state, this.view);
    this.lookup = new Lookup();
    this.lookupIsFresh = false;
    this.showLabels = false;
    this.pointers = new Map();
    this.moving = false;
    this.journey = 0;
    this.frame = 0;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  listen() {
    const { overlay, state } = this;
    state.on("time", () => this.regroup());
    state.on("filter", () => this.regroup());
    state.on("theme", () => {
      this.scene.refreshColours();
      this.redraw();
    });
    state.on("selection", () => this.redraw());
    state.on("pointed", () => this.drawOverlay());
    overlay.addEventListener("pointerdown", (event) => this.press(event));
    overlay.addEventListener("pointermove", (event) => this.move(event));
    overlay.addEventListener("pointerup", (event) => this.release(event));
    overlay.addEventListener("pointercancel", (event) => this.release(event));
    overlay.addEventListener("pointerleave", () => this.leave());
    overlay.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    overlay.addEventListener("dblclick", (event) => this.centreUnder(event));
    overlay.addEventListener("keydown", (event) => this.key(event));
  }

  resize() {
    const width = this.host.clientWidth, height = this.host.clientHeight;
    if (!width || !height) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.view.resize(width, height);
    this.scene.resize(width, height, ratio);
    this.overlay.width = Math.round(width * ratio);
    this.overlay.height = Math.round(height * ratio);
    this.drawNow();
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
    if (this.showLabels) drawLabels(this.scene.context, this.state, this.view, this.scene.radii);
    this.drawOverlay();
  }

  // Path to the root and children of the selected memory, rings around it and what is pointed at.
  drawOverlay() {
    const { state, view, scene } = this;
    const context = this.overlay.getContext("2d");
    context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    const accent = styleColour("accent"), ink = styleColour("ink");
    if (state.selected >= 0) {
      this.traceFamily(context, state.selected, accent, 2);
      this.ring(context, state.selected, accent, 2.5);
    }
    if (state.pointed >= 0) {
      if (state.pointed !== state.selected) this.traceFamily(context, state.pointed, ink, 1.25);
      this.ring(context, state.pointed, ink, 1.75);
    }
    this.placeTip();
  }

  traceFamily(context, row, colour, width) {
    const { model } = this.state;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.globalAlpha = 0.8;
    context.beginPath();
    let below = row;
    for (const up of ancestorsOf(model, row)) {
      traceGeodesic(context, this.view, up, below);
      below = up;
    }
    for (const child of childrenOf(model, row).subarray(0, FAMILY)) traceGeodesic(context, this.view, row, child);
    context.stroke();
    context.globalAlpha = 1;
    this.uncover(context, [row, ...ancestorsOf(model, row), ...childrenOf(model, row).subarray(0, FAMILY)]);
  }

  // Cuts the discs out of the lines above them.
  uncover(context, rows) {
    const { view, scene } = this;
    context.globalCompositeOperation = "destination-out";
    context.beginPath();
    for (const row of rows) {
      const radius = scene.radii[row] + 0.5;
      context.moveTo(view.sx[row] + radius, view.sy[row]);
      context.arc(view.sx[row], view.sy[row], radius, 0, 2 * Math.PI);
    }
    context.fill();
    context.globalCompositeOperation = "source-over";
  }

  ring(context, row, colour, width) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.arc(this.view.sx[row], this.view.sy[row], this.scene.radii[row] + 3, 0, 2 * Math.PI);
    context.stroke();
  }

  placeTip() {
    const { state, tip, view } = this;
    const row = state.pointed;
    const shown = row >= 0 && !this.moving && this.host.clientWidth > 0;
    tip.hidden = !shown;
    if (!shown) return;
    const { model } = state;
    tip.replaceChildren(
      element("strong", {}, oneLine(model.texts[row], 140)),
      element(
        "span",
        {},
        `level ${model.level[row]} · depth ${model.depth[row].toFixed(2)} · weight ${formatWeight(state.weights[row])}`,
      ),
    );
    const x = view.sx[row], y = view.sy[row];
    const left = x + tip.offsetWidth + 24 > view.width ? x - tip.offsetWidth - 14 : x + 14;
    tip.style.left = `${Math.max(4, Math.min(left, view.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 14, view.height - tip.offsetHeight - 4))}px`;
  }

  rowUnder(x, y, margin = HOVER_RANGE) {
    const { view, lookup } = this;
    if (!this.lookupIsFresh) {
      lookup.build(view.sx, view.sy, view.width, view.height);
      this.lookupIsFresh = true;
    }
    return lookup.nearest(x, y, this.scene.radii, margin);
  }

  // Pointer, touch, wheel, keyboard

  position(event) {
    const box = this.overlay.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(event) {
    const [x, y] = this.position(event);
    this.journey++;
    this.overlay.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x, y, startX: x, startY: y });
    this.pinch = null;
    this.hasMoved = this.pointers.size > 1;
  }

  move(event) {
    const [x, y] = this.position(event);
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) {
      if (event.pointerType !== "touch") this.state.point(this.rowUnder(x, y));
      return;
    }
    if (Math.hypot(x - pointer.startX, y - pointer.startY) > CLICK_RANGE) this.hasMoved = true;
    if (!this.hasMoved) return;
    this.startMoving();
    if (this.pointers.size === 1) this.view.drag(pointer.x, pointer.y, x, y);
    Object.assign(pointer, { x, y });
    if (this.pointers.size === 2) this.spread();
    this.redraw();
  }

  // Two fingers: their distance magnifies, their middle drags.
  spread() {
    const [a, b] = [...this.pointers.values()];
    const next = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, span: Math.hypot(a.x - b.x, a.y - b.y) };
    if (this.pinch && this.pinch.span > 0) {
      this.view.zoom(next.span / this.pinch.span, this.pinch.x, this.pinch.y);
      this.view.drag(this.pinch.x, this.pinch.y, next.x, next.y);
    }
    this.pinch = next;
  }

  release(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    this.pinch = null;
    if (this.pointers.size) return;
    this.stopMoving();
    if (this.hasMoved || event.type === "pointercancel") return;
    const [x, y] = this.position(event);
    this.state.select(this.rowUnder(x, y, event.pointerType === "touch" ? 16 : HOVER_RANGE));
  }

  leave() {
    if (!this.pointers.size) this.state.point(-1);
  }

  startMoving() {
    if (this.moving) return;
    this.moving = true;
    this.overlay.classList.add("dragging");
    this.state.point(-1);
  }

  stopMoving() {
    if (!this.moving) return;
    this.moving = false;
    this.overlay.classList.remove("dragging");
    this.redraw();
  }

  wheel(event) {
    event.preventDefault();
    const [x, y] = this.position(event);
    const lines = event.deltaMode === 1 ? 30 : 1;
    this.view.zoom(Math.exp(-event.deltaY * lines * 0.0015), x, y);
    this.redraw();
  }

  centreUnder(event) {
    const row = this.rowUnder(...this.position(event));
    if (row >= 0) this.centre(row);
  }

  key(event) {
    const { view } = this;
    const middle = [view.width / 2, view.height / 2];
    const step = KEY_STEP * view.radius;
    const steps = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (steps[event.key]) view.drag(...middle, middle[0] + steps[event.key][0], middle[1] + steps[event.key][1]);
    else if (event.key === "+" || event.key === "=") view.zoom(1.25, ...middle);
    else if (event.key === "-") view.zoom(0.8, ...middle);
    else if (event.key === "0") view.reset();
    else if (event.key === "Escape") this.state.select(-1);
    else return;
    event.preventDefault();
    this.redraw();
  }

  // Glides until the memory is in the middle.
  centre(row) {
    const { model } = this.state;
    const start = this.view.remember();
    const glide = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 420;
    const began = performance.now();
    const journey = ++this.journey; // a new journey, or a hand on the disk, ends this one
    this.startMoving();
    const step = () => {
      if (journey !== this.journey) return;
      const part = glide ? Math.min(1, (performance.now() - began) / glide) : 1;
      this.view.approach(start, model.x[row], model.y[row], 1 - Math.pow(1 - part, 3));
      if (part < 1) requestAnimationFrame(step);
      else this.stopMoving();
      this.redraw();
    };
    step();
  }

  reset() {
    this.view.reset();
    this.redraw();
  }
}
