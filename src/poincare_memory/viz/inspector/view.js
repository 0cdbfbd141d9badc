// From the disk to the screen: an isometry (panning) followed by a magnification (zooming).

import { IDENTITY, compose, dragging, insideRim, moveAll, moved, towardsCentre, translation } from "./geometry.js";

const MARGIN = 14;
const LARGEST_MAGNIFICATION = 60;

export class View {
  constructor(model) {
    const { count } = model;
    this.home = homeOf(model);
    this.isometry = this.home;
    this.magnification = 1;
    this.shiftX = 0;
    this.shiftY = 0;
    this.width = 1;
    this.height = 1;
    this.sx = new Float64Array(count); // screen positions, pixels
    this.sy = new Float64Array(count);
    this.wx = new Float64Array(count); // positions on the disk after the isometry
    this.wy = new Float64Array(count);
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
  }

  get radius() {
    return Math.max(10, (Math.min(this.width, this.height) / 2 - MARGIN) * this.magnification);
  }

  get centreX() {
    return this.width / 2 + this.shiftX;
  }

  get centreY() {
    return this.height / 2 + this.shiftY;
  }

  toDisk(px, py) {
    const { radius } = this;
    return insideRim((px - this.centreX) / radius, (this.centreY - py) / radius);
  }

  toScreen(x, y) {
    const { radius } = this;
    return [this.centreX + x * radius, this.centreY - y * radius];
  }

  update(xs, ys) {
    moveAll(this.isometry, xs, ys, this.wx, this.wy);
    const { radius, centreX, centreY } = this;
    for (let i = 0; i < xs.length; i++) {
      this.sx[i] = centreX + this.wx[i] * radius;
      this.sy[i] = centreY - this.wy[i] * radius;
    }
  }

  // Moves what is under the first pixel to the second one.
  drag(fromX, fromY, toX, toY) {
    const [px, py] = this.toDisk(fromX, fromY), [qx, qy] = this.toDisk(toX, toY);
    this.isometry = compose(dragging(px, py, qx, qy), this.isometry);
  }

  // Magnifies; what is under the pixel stays there.
  zoom(factor, px, py) {
    const next = Math.min(LARGEST_MAGNIFICATION, Math.max(1, this.magnification * factor));
    const ratio = next / this.magnification;
    this.shiftX = (px - this.width / 2) * (1 - ratio) + this.shiftX * ratio;
    this.shiftY = (py - this.height / 2) * (1 - ratio) + this.shiftY * ratio;
    this.magnification = next;
    const reach = (Math.min(this.width, this.height) / 2) * (next - 1);
    this.shiftX = Math.max(-reach, Math.min(reach, this.shiftX));
    this.shiftY = Math.max(-reach, Math.min(reach, this.shiftY));
  }

  // The view in which (x, y) of the data has come `fraction` of its way to the middle of the screen.
  approach(start, x, y, fraction) {
    const [px, py] = moved(start.isometry, x, y);
    this.isometry = compose(towardsCentre(px, py, fraction), start.isometry);
    this.shiftX = start.shiftX * (1 - fraction);
    this.shiftY = start.shiftY * (1 - fraction);
  }

  remember() {
    return { isometry: this.isometry, shiftX: this.shiftX, shiftY: this.shiftY };
  }

  reset() {
    this.isometry = this.home;
    this.magnification = 1;
    this.shiftX = 0;
    this.shiftY = 0;
  }
}

// One tree is seen from its root, several and directions from the centre of the disk.
function homeOf({ config, roots, x, y }) {
  if (config.layout !== "structural" || roots.length !== 1) return IDENTITY;
  return translation(-x[roots[0]], -y[roots[0]]);
}
