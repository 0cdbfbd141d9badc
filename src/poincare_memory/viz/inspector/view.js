// From the disk to the screen: a frame (seen from which memory), an isometry (panning), a magnification (zooming).

import { Frame, homeOf } from "./frame.js";
import { IDENTITY, compose, dragging, insideRim, inverse, moveAll, moved, towardsCentre, turning } from "./geometry.js";

const MARGIN = 14;
const LARGEST_MAGNIFICATION = 60;
const FARTHEST = 100; // |b|^2 of an isometry, 6 units: further away, the frame moves after it
const NEAR_THE_RIM = 1 - 1e-8; // beyond 19 units no isometry brings a point to the middle

export class View {
  constructor(model) {
    const { count } = model;
    this.frame = new Frame(model);
    this.home = homeOf(model) ?? IDENTITY;
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

  update() {
    this.follow();
    moveAll(this.isometry, this.frame.x, this.frame.y, this.wx, this.wy);
    const { radius, centreX, centreY } = this;
    for (let i = 0; i < this.wx.length; i++) {
      this.sx[i] = centreX + this.wx[i] * radius;
      this.sy[i] = centreY - this.wy[i] * radius;
    }
  }

  // Moves the frame to what is nearest to the middle, once that is far from where the frame is.
  follow() {
    const { br, bi } = this.isometry;
    if (br * br + bi * bi < FARTHEST) return;
    moveAll(this.isometry, this.frame.x, this.frame.y, this.wx, this.wy);
    let nearest = -1, least = 0.99;
    for (let i = 0; i < this.wx.length; i++) {
      const distance = this.wx[i] * this.wx[i] + this.wy[i] * this.wy[i];
      if (distance < least) [nearest, least] = [i, distance];
    }
    if (nearest >= 0 && nearest !== this.frame.anchor) this.seeFrom(nearest);
  }

  // The same picture, in the frame of another memory not far away.
  seeFrom(row) {
    this.isometry = compose(this.isometry, inverse(this.frame.moveTo(row)));
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

  // A start for `approach`. From very far there is no way that could be shown: the memory is in the middle at once.
  departure(row) {
    const [x, y] = moved(this.isometry, this.frame.x[row], this.frame.y[row]);
    if (Math.hypot(x, y) > NEAR_THE_RIM) {
      this.frame.moveTo(row);
      this.isometry = turning(this.isometry);
    }
    const { isometry, shiftX, shiftY, frame } = this;
    return { isometry, shiftX, shiftY, x: frame.x[row], y: frame.y[row], anchor: frame.anchor };
  }

  // The view in which a memory has come `fraction` of its way to the middle of the screen.
  approach(start, row, fraction) {
    if (start.anchor !== this.frame.anchor) Object.assign(start, this.departure(row), { anchor: this.frame.anchor });
    const [px, py] = moved(start.isometry, start.x, start.y);
    this.isometry = compose(towardsCentre(px, py, fraction), start.isometry);
    this.shiftX = start.shiftX * (1 - fraction);
    this.shiftY = start.shiftY * (1 - fraction);
  }

  reset() {
    this.frame.reset();
    this.isometry = this.home;
    this.magnification = 1;
    this.shiftX = 0;
    this.shiftY = 0;
  }
}
