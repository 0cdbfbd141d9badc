// Memories too small for a disc, written straight into pixels: a hundred thousand take a few milliseconds.

export class Dots {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
  }

  resize(width, height) {
    Object.assign(this.canvas, { width, height });
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  clear() {
    this.pixels.fill(0);
  }

  // One dot of `side` device pixels across for each of `rows`, centred on its place on screen.
  add(rows, xs, ys, radii, largest, ratio, colour, alpha) {
    const { pixels } = this;
    const { width, height } = this.canvas;
    const value = pixelValue(colour, alpha);
    for (const i of rows) {
      if (radii[i] >= largest) continue;
      const side = Math.max(1, Math.round(1.8 * radii[i] * ratio));
      const left = Math.round(xs[i] * ratio - side / 2), top = Math.round(ys[i] * ratio - side / 2);
      if (!(left >= 0 && top >= 0 && left + side <= width && top + side <= height)) continue;
      for (let line = 0; line < side; line++) {
        const cut = side > 3 && (line === 0 || line === side - 1) ? 1 : 0; // corners
        const start = (top + line) * width + left + cut, end = start + side - 2 * cut;
        for (let place = start; place < end; place++) pixels[place] = value;
      }
    }
  }

  drawOnto(context) {
    this.context.putImageData(this.image, 0, 0);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.canvas, 0, 0);
  }
}

// "#rrggbb" as the bytes r, g, b, a of a little-endian word.
function pixelValue(colour, alpha) {
  const rgb = parseInt(colour.slice(1), 16);
  const red = rgb >> 16, green = (rgb >> 8) & 255, blue = rgb & 255;
  return ((Math.round(alpha * 255) << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
