// Which memory lies under the pointer: drawn positions sorted into square cells.

const CELL = 20;

export class Lookup {
  constructor() {
    this.starts = new Int32Array(1);
    this.items = new Int32Array(0);
    this.across = 0;
    this.down = 0;
  }

  // Positions in pixels; those outside width x height, and rows that are not shown, are left out.
  build(xs, ys, width, height, isShown) {
    const across = Math.max(1, Math.ceil(width / CELL)), down = Math.max(1, Math.ceil(height / CELL));
    const cells = across * down;
    if (this.starts.length !== cells + 1) this.starts = new Int32Array(cells + 1);
    else this.starts.fill(0);
    const { starts } = this;
    const cellOf = new Int32Array(xs.length);
    for (let i = 0; i < xs.length; i++) {
      const column = Math.floor(xs[i] / CELL), line = Math.floor(ys[i] / CELL);
      const inside = column >= 0 && column < across && line >= 0 && line < down && isShown(i);
      cellOf[i] = inside ? line * across + column : -1;
      if (inside) starts[cellOf[i] + 1]++;
    }
    for (let c = 0; c < cells; c++) starts[c + 1] += starts[c];
    this.items = new Int32Array(starts[cells]);
    const free = starts.slice();
    for (let i = 0; i < xs.length; i++) if (cellOf[i] >= 0) this.items[free[cellOf[i]]++] = i;
    Object.assign(this, { xs, ys, across, down });
  }

  // The nearest memory whose disc, or a margin around it, holds (x, y); -1 where there is none.
  nearest(x, y, radii, margin) {
    const column = Math.floor(x / CELL), line = Math.floor(y / CELL);
    let best = -1, least = Infinity;
    for (let l = Math.max(0, line - 1); l <= Math.min(this.down - 1, line + 1); l++) {
      for (let c = Math.max(0, column - 1); c <= Math.min(this.across - 1, column + 1); c++) {
        const cell = l * this.across + c;
        for (let k = this.starts[cell]; k < this.starts[cell + 1]; k++) {
          const i = this.items[k];
          const gap = Math.hypot(this.xs[i] - x, this.ys[i] - y) - radii[i];
          if (gap < least && gap <= margin) [best, least] = [i, gap];
        }
      }
    }
    return best;
  }
}
