// The time slider: weights as the memory's policy gives them at any moment.

import { formatMoment } from "./format.js";
import { largest, smallest } from "./model.js";
import { factorsOf, weigh } from "./policies.js";

const STEPS = 1000;
const LATEST = 8.64e15; // the last moment that a Date can hold

export class Timeline {
  constructor(slider, output, back, state, floor) {
    Object.assign(this, { slider, output, back, state, floor });
    this.opening = state.now;
    this.factors = factorsOf(state.model.config.decay);
    const [first, last] = this.range();
    Object.assign(this, { first, last });
    slider.max = String(STEPS);
    slider.disabled = this.factors === null || last <= first;
    if (this.factors === null) {
      slider.title = "The weights come from a policy written in Python; they are shown as of the opening moment.";
    }
    slider.addEventListener("input", () => this.go(this.first + ((this.last - this.first) * Number(slider.value)) / STEPS));
    back.addEventListener("click", () => this.go(this.opening));
    this.show();
  }

  // From the first memory to the opening moment, and as far beyond it as something is still to come.
  range() {
    const { model } = this.state;
    const first = Math.min(smallest(model.t, this.opening), this.opening);
    let last = Math.max(this.opening, largest(model.t, this.opening));
    const horizon = last + (last - first);
    for (let i = 0; i < model.count; i++) {
      const end = model.validUntil[i] + 1;
      if (end > last && end <= horizon) last = end;
    }
    return [Math.max(first, -LATEST), Math.min(last, LATEST)];
  }

  go(now) {
    const weights =
      now === this.opening ? this.state.model.openingWeights : weigh(this.factors, now, this.state.model, this.floor);
    this.state.moveTo(now, weights);
    this.show();
  }

  show() {
    const { now } = this.state;
    const part = this.last > this.first ? (now - this.first) / (this.last - this.first) : 1;
    this.slider.value = String(Math.round(part * STEPS));
    const text = formatMoment(now);
    this.output.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    this.back.disabled = now === this.opening;
  }
}
