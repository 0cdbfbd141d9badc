// How many memories were written when: bars above the time slider.

import { styleColour } from "./palette.js";

const BARS = 48;
const THUMB = 16; // pixels: the middle of the slider's thumb does not reach its ends
const GAP = 1;

export class Times {
  constructor(canvas, state, timeline) {
    Object.assign(this, { canvas, state, timeline });
    this.counts = this.count();
    for (const kind of ["time", "colours"]) state.on(kind, () => this.draw());
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.draw();
  }

  count() {
    const { t } = this.state.model;
    const { first, last } = this.timeline;
    const counts = new Float64Array(BARS);
    if (!(last > first)) return counts;
    for (let i = 0; i < t.length; i++) {
      const bar = Math.floor(((t[i] - first) / (last - first)) * BARS);
      counts[Math.max(0, Math.min(BARS - 1, bar))]++;
    }
    return counts;
  }

  draw() {
    const { canvas, counts } = this;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    let most = 1;
    for (const count of counts) most = Math.max(most, count);
    const { first, last } = this.timeline;
    const reached = ((this.state.now - first) / (last - first)) * BARS;
    const step = (width - THUMB) / BARS;
    const accent = styleColour("accent"), rest = styleColour("rim");
    for (let bar = 0; bar < BARS; bar++) {
      if (!counts[bar]) continue;
      // The square root, so that a burst does not hide the quiet days.
      const tall = Math.max(1.5, height * Math.sqrt(counts[bar] / most));
      context.globalAlpha = bar < reached ? 0.75 : 0.4;
      context.fillStyle = bar < reached ? accent : rest;
      context.fillRect(THUMB / 2 + bar * step, height - tall, Math.max(1, step - GAP), tall);
    }
  }
}
