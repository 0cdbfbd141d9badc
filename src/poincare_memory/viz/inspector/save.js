// What can be taken away: the disk as an image or a drawing, and the page's data.

import { drawLabels } from "./labels.js";
import { styleColour } from "./palette.js";
import { SvgContext } from "./svg.js";

const EDGES = 20_000; // the longest
const LONGEST_SIDE = 2400; // pixels of an image
const LINE = 18;

export function savePng(disk) {
  const { width, height } = disk.view;
  const scale = Math.max(1, Math.min(4, LONGEST_SIDE / Math.max(width, height)));
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = styleColour("panel");
  context.fillRect(0, 0, width, height);
  draw(disk, context);
  canvas.toBlob((blob) => save(blob, "memory.png"), "image/png");
}

export function saveSvg(disk, name) {
  const { width, height } = disk.view;
  const context = new SvgContext(width, height, disk.scene.context);
  draw(disk, context);
  save(new Blob([context.finish(styleColour("panel"), name, document.querySelector("svg").namespaceURI)], { type: "image/svg+xml" }), "memory.svg");
}

export function saveJson(text) {
  save(new Blob([text], { type: "application/json" }), "memory.json");
}

function draw(disk, context) {
  const { overlay, scene, state } = disk;
  scene.drawOn(context, EDGES, () => overlay.drawLines(context, () => {}));
  if (disk.showLabels) drawLabels(context, disk.labels(), state);
  overlay.drawRings(context);
  drawLegend(context, state.colouring);
}

function drawLegend(context, colouring) {
  const { legend } = colouring;
  const colours = colouring.colours();
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  let y = 20;
  if (!legend.items) {
    drawRamp(context, colours.slice(0, -1), y);
    write(context, `${legend.from} – ${legend.to}`, 152, y);
    return;
  }
  for (const { shade, name } of legend.items) {
    context.beginPath();
    context.arc(20, y, 5, 0, 2 * Math.PI);
    context.fillStyle = colours[shade];
    context.fill();
    write(context, name, 32, y);
    y += LINE;
  }
}

function drawRamp(context, colours, y) {
  colours.forEach((colour, step) => {
    const left = 16 + step * 10;
    context.beginPath();
    context.moveTo(left, y - 5);
    context.lineTo(left + 10, y - 5);
    context.lineTo(left + 10, y + 5);
    context.lineTo(left, y + 5);
    context.closePath();
    context.fillStyle = colour;
    context.fill();
  });
}

function write(context, text, x, y) {
  context.fillStyle = styleColour("ink");
  context.fillText(text, x, y);
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
