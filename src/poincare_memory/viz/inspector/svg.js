// A drawing context that writes SVG: the part of CanvasRenderingContext2D that the disk uses.

export class SvgContext {
  constructor(width, height, measuring) {
    Object.assign(this, { width, height, measuring });
    this.parts = [];
    this.path = [];
    this.dash = "";
    this.globalAlpha = 1;
    this.lineWidth = 1;
    this.fillStyle = this.strokeStyle = "#000000";
    this.font = "12px sans-serif";
    this.textAlign = "start";
    this.lineJoin = "miter";
  }

  beginPath() {
    this.path = [];
  }

  moveTo(x, y) {
    this.path.push(`M${short(x)} ${short(y)}`);
  }

  lineTo(x, y) {
    this.path.push(`${this.path.length ? "L" : "M"}${short(x)} ${short(y)}`);
  }

  closePath() {
    this.path.push("Z");
  }

  arc(x, y, radius, from, to, turnsBack = false) {
    const r = short(radius);
    if (Math.abs(to - from) >= 2 * Math.PI) {
      this.path.push(`M${short(x + radius)} ${short(y)}a${r} ${r} 0 1 1 ${short(-2 * radius)} 0a${r} ${r} 0 1 1 ${short(2 * radius)} 0Z`);
      return;
    }
    const turn = (((turnsBack ? from - to : to - from) % (2 * Math.PI)) + 2 * Math.PI) % (2 * Math.PI);
    this.lineTo(x + radius * Math.cos(from), y + radius * Math.sin(from));
    const end = `${short(x + radius * Math.cos(to))} ${short(y + radius * Math.sin(to))}`;
    this.path.push(`A${r} ${r} 0 ${turn > Math.PI ? 1 : 0} ${turnsBack ? 0 : 1} ${end}`);
  }

  setLineDash(lengths) {
    this.dash = lengths.length ? ` stroke-dasharray="${lengths.join(" ")}"` : "";
  }

  fill() {
    if (!this.path.length) return;
    this.parts.push(`<path d="${this.path.join("")}" fill="${this.fillStyle}"${this.opacity("fill")}/>`);
  }

  stroke() {
    if (!this.path.length) return;
    this.parts.push(`<path d="${this.path.join("")}" fill="none" ${this.strokes()}${this.dash}/>`);
  }

  fillText(text, x, y) {
    this.parts.push(this.text(text, x, y, `fill="${this.fillStyle}"${this.opacity("fill")}`));
  }

  strokeText(text, x, y) {
    this.parts.push(this.text(text, x, y, `fill="none" stroke-linejoin="round" ${this.strokes()}`));
  }

  measureText(text) {
    this.measuring.font = this.font;
    return this.measuring.measureText(text);
  }

  text(text, x, y, look) {
    const anchor = this.textAlign === "center" ? ' text-anchor="middle"' : "";
    const style = `font="${this.font}"`.replace(/^font="(?:(\d+) )?([\d.]+)px (.*)"$/, (all, weight, size, family) =>
      `font-size="${size}" font-family="${escaped(family)}"${weight ? ` font-weight="${weight}"` : ""}`);
    return `<text x="${short(x)}" y="${short(y)}" dominant-baseline="central" ${style}${anchor} ${look}>${escaped(text)}</text>`;
  }

  strokes() {
    return `stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${this.opacity("stroke")}`;
  }

  opacity(kind) {
    return this.globalAlpha < 1 ? ` ${kind}-opacity="${short(this.globalAlpha)}"` : "";
  }

  // `name` is what a screen reader says.
  finish(background, name, namespace) {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
    return (
      `<svg xmlns="${namespace}" ${size} role="img"><title>${escaped(name)}</title>` +
      `<rect width="100%" height="100%" fill="${background}"/>\n${this.parts.join("\n")}\n</svg>\n`
    );
  }
}

function short(value) {
  return Number(value.toFixed(2));
}

// Neither markup nor characters that XML forbids, nor the marks around a name, which some programs draw as boxes.
function escaped(text) {
  return (text.toWellFormed?.() ?? text)
    .replace(/[\u2068\u2069]/g, "")
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
