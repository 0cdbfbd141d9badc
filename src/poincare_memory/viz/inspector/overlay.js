// Above the memories: the cone, the path and the children of the selected one, the hits of the query.

import { coneEnds, halfAperture } from "./cone.js";
import { moved } from "./geometry.js";
import { uncoverLabels } from "./labels.js";
import { ancestorsOf, childrenOf } from "./model.js";
import { styleColour } from "./palette.js";
import { continueGeodesic, traceGeodesic } from "./paths.js";

const FAMILY = 500; // children whose edges are lit up
const FARTHEST_APEX = 1 - 1e-9; // beyond it a cone is smaller than any pixel
export const BADGE = 8.5; // radius of the disc with a hit's rank
const D = Math.SQRT1_2;
const SIDES = [[D, -D], [-D, -D], [D, D], [-D, D], [1.4, 0], [-1.4, 0], [0, -1.4], [0, 1.4]];

export class Overlay {
  constructor(canvas, state, view, scene) {
    Object.assign(this, { canvas, state, view, scene });
    this.showCone = true;
    this.labels = []; // on the canvas below
  }

  draw() {
    const { state, view, scene } = this;
    const context = this.canvas.getContext("2d");
    context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    this.drawOn(context);
  }

  drawOn(context) {
    this.drawLines(context, (rows) => this.uncover(context, rows));
    if (this.state.selected >= 0 || this.state.pointed >= 0) uncoverLabels(context, this.labels);
    this.drawRings(context);
  }

  // The cone and the edges of the family; `uncover(rows)` is called for the discs on those edges.
  drawLines(context, uncover) {
    const { selected, pointed } = this.state;
    if (selected >= 0) {
      if (this.showCone) this.drawCone(context, selected, styleColour("accent"));
      uncover(this.traceFamily(context, selected, styleColour("accent"), 2));
    }
    if (pointed >= 0 && pointed !== selected) uncover(this.traceFamily(context, pointed, styleColour("ink"), 1.25));
  }

  drawRings(context) {
    const { selected, pointed } = this.state;
    this.drawHits(context);
    if (selected >= 0) this.ring(context, selected, styleColour("accent"), 2.5);
    if (pointed >= 0) this.ring(context, pointed, styleColour("ink"), 1.75);
  }

  drawCone(context, row, colour) {
    const { view } = this;
    const { model } = this.state;
    if (Math.hypot(view.wx[row], view.wy[row]) > FARTHEST_APEX) return;
    const { curvature, cone_k: k } = model.config;
    const axis = moved(view.isometry, ...view.frame.rim(view.frame.angle[row]));
    const ends = coneEnds(view.wx[row], view.wy[row], ...axis, halfAperture(model.depth[row], curvature, k));
    context.beginPath();
    if (ends) this.traceCone(context, row, ends);
    else context.arc(view.centreX, view.centreY, view.radius, 0, 2 * Math.PI);
    context.fillStyle = colour;
    context.globalAlpha = 0.1;
    context.fill();
    context.globalAlpha = 0.55;
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.setLineDash([5, 4]);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  // Along one edge to the rim, along the rim to the other edge, and back.
  traceCone(context, row, [start, end]) {
    const { view } = this;
    const wx = view.wx[row], wy = view.wy[row];
    context.moveTo(view.sx[row], view.sy[row]);
    continueGeodesic(context, view, wx, wy, start[0], start[1]);
    const from = Math.atan2(-start[1], start[0]), to = Math.atan2(-end[1], end[0]);
    context.arc(view.centreX, view.centreY, view.radius, from, to, true);
    continueGeodesic(context, view, end[0], end[1], wx, wy);
    context.closePath();
  }

  traceFamily(context, row, colour, width) {
    const { model } = this.state;
    const above = ancestorsOf(model, row).filter((up, i, all) => this.state.isShown(up) && this.isApart(up, all[i - 1] ?? row));
    const below = childrenOf(model, row).subarray(0, FAMILY);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.globalAlpha = 0.8;
    context.beginPath();
    let from = row;
    for (const up of above) {
      traceGeodesic(context, this.view, up, from);
      from = up;
    }
    for (const child of below) traceGeodesic(context, this.view, row, child);
    context.stroke();
    context.globalAlpha = 1;
    return [row, ...above, ...below];
  }

  // Whether two memories are apart on the screen; far away, a whole path is one pixel at the rim.
  isApart(p, q) {
    const { sx, sy } = this.view;
    return Math.abs(sx[p] - sx[q]) + Math.abs(sy[p] - sy[q]) > 0.5;
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

  // A ring around each hit, and its rank; the best one last, on top of the others.
  drawHits(context) {
    const { state, view, scene } = this;
    if (!state.model.hits.length) return;
    const colour = styleColour("hit"), ink = styleColour("hit-ink");
    context.font = "600 10.5px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const { row, rank, x, y } of this.badges().reverse()) {
      this.ring(context, row, colour, 2.25);
      context.beginPath();
      context.arc(x, y, rank > 99 ? BADGE + 2 : BADGE, 0, 2 * Math.PI);
      context.fillStyle = colour;
      context.fill();
      context.fillStyle = ink;
      context.fillText(String(rank), x, y + 0.5);
    }
    context.textAlign = "start";
  }

  // Where the ranks stand: above and right of a disc, or on the first side that no better one has taken.
  badges() {
    const { state, view, scene } = this;
    const placed = [];
    for (const { row, rank } of state.model.hits) {
      if (!state.isShown(row)) continue;
      const reach = scene.radii[row] + 3 + BADGE * 0.6;
      const places = SIDES.map(([dx, dy]) => ({ row, rank, x: view.sx[row] + dx * reach, y: view.sy[row] + dy * reach }));
      const isFree = (place) => placed.every((other) => Math.hypot(place.x - other.x, place.y - other.y) >= 2 * BADGE);
      placed.push(places.find(isFree) ?? places[0]);
    }
    return placed;
  }
}
