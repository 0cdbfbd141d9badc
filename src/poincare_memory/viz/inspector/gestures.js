// Pointer, touch, wheel and keyboard on the disk.

import { childrenOf } from "./model.js";

const CLICK_RANGE = 4; // pixels; further is a drag
const TOUCH_RANGE = 16; // a finger is wider than a pointer
const WHEEL_REST = 140; // milliseconds after which a wheel has stopped
const KEY_STEP = 0.12; // of the disk's radius
const KEY_ZOOM = 1.25;

export class Gestures {
  constructor(canvas, disk) {
    Object.assign(this, { canvas, disk });
    this.view = disk.view;
    this.state = disk.state;
    this.pointers = new Map();
    this.pinch = null;
    this.hasMoved = false;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("dblclick", (event) => this.centreUnder(event));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  position(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(event) {
    clearTimeout(this.turning);
    const [x, y] = this.position(event);
    this.disk.interrupt();
    if (event.isTrusted) this.canvas.setPointerCapture(event.pointerId); // a script's event has no pointer to capture
    this.pointers.set(event.pointerId, { x, y, startX: x, startY: y });
    this.pinch = null;
    this.hasMoved = this.pointers.size > 1;
  }

  move(event) {
    const [x, y] = this.position(event);
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) {
      if (event.pointerType !== "touch") this.state.point(this.disk.rowUnder(x, y));
      return;
    }
    if (Math.hypot(x - pointer.startX, y - pointer.startY) > CLICK_RANGE) this.hasMoved = true;
    if (!this.hasMoved) return;
    this.disk.startMoving();
    if (this.pointers.size === 1) this.view.drag(pointer.x, pointer.y, x, y);
    Object.assign(pointer, { x, y });
    if (this.pointers.size === 2) this.spread();
    this.disk.redraw();
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
    this.disk.stopMoving();
    if (this.hasMoved || event.type === "pointercancel") return;
    const [x, y] = this.position(event);
    if (event.pointerType === "touch") this.disk.touched = this.disk.rowUnder(x, y, TOUCH_RANGE);
    this.state.select(event.pointerType === "touch" ? this.disk.touched : this.disk.rowUnder(x, y));
    this.disk.drawOverlay();
  }

  leave() {
    if (!this.pointers.size) this.state.point(-1);
  }

  wheel(event) {
    event.preventDefault();
    const [x, y] = this.position(event);
    const lines = event.deltaMode === 1 ? 30 : 1;
    this.disk.interrupt();
    this.disk.startMoving();
    clearTimeout(this.turning);
    this.turning = setTimeout(() => this.disk.stopMoving(), WHEEL_REST);
    this.view.zoom(Math.exp(-event.deltaY * lines * 0.0015), x, y);
    this.disk.redraw();
  }

  centreUnder(event) {
    const row = this.disk.rowUnder(...this.position(event));
    if (row >= 0) this.disk.centre(row);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's own
    const handled = event.key.startsWith("Arrow")
      ? event.shiftKey ? this.walk(event.key) : this.pan(event.key)
      : this.command(event.key);
    if (handled) event.preventDefault();
  }

  pan(key) {
    const { view, disk } = this;
    const step = KEY_STEP * Math.min(view.radius, view.height);
    const [dx, dy] = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[key];
    disk.interrupt();
    view.drag(view.width / 2, view.height / 2, view.width / 2 + dx, view.height / 2 + dy);
    disk.redraw();
    return true;
  }

  // Shift and an arrow: to the parent, the first child, the sibling before or after.
  walk(key) {
    const { model, selected } = this.state;
    if (selected < 0) return this.visit(this.disk.rowInTheMiddle());
    const up = model.parent[selected];
    if (key === "ArrowUp") return this.visit(up);
    if (key === "ArrowDown") return this.visit(childrenOf(model, selected)[0] ?? -1);
    const siblings = up < 0 ? model.roots : [...childrenOf(model, up)];
    const place = siblings.indexOf(selected) + (key === "ArrowRight" ? 1 : -1);
    return this.visit(siblings[place] ?? -1);
  }

  visit(row) {
    if (row >= 0) {
      this.state.select(row);
      this.disk.centre(row);
    }
    return true;
  }

  command(key) {
    const { disk, state } = this;
    if (key === "+" || key === "=") disk.zoom(KEY_ZOOM);
    else if (key === "-" || key === "_") disk.zoom(1 / KEY_ZOOM);
    else if (key === "0") disk.reset();
    else if (key === "Enter") return this.visit(disk.rowInTheMiddle());
    else if (key === "f" && (state.selected >= 0 || state.focused >= 0)) {
      state.focus(state.focused === state.selected ? -1 : state.selected);
    } else if (key === "Escape" && state.selected >= 0) state.select(-1);
    else if (key === "Escape" && state.focused >= 0) state.focus(-1);
    else return false;
    return true;
  }
}
