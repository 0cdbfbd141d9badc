// What the views share: the moment, the filter, the branch in focus, the colours, what is selected and pointed at.

import { Colouring } from "./colouring.js";
import { isUnder } from "./model.js";

export class State {
  constructor(model) {
    this.model = model;
    this.now = model.config.now_ms;
    this.weights = model.openingWeights;
    this.marks = null; // per memory 1 where the filter matches; null without a filter
    this.matches = model.count;
    this.focused = -1; // the root of the branch that alone is shown; -1 for everything
    this.selected = -1;
    this.pointed = -1;
    this.colouring = new Colouring(model);
    this.listeners = new Map();
  }

  // Kinds: "time", "filter", "focus", "selection", "pointed", "colours".
  on(kind, listener) {
    if (!this.listeners.has(kind)) this.listeners.set(kind, []);
    this.listeners.get(kind).push(listener);
  }

  tell(kind) {
    for (const listener of this.listeners.get(kind) ?? []) listener();
  }

  // A selected memory is always shown: one outside the branch in focus ends the focus.
  select(row) {
    if (row === this.selected) return;
    this.selected = row;
    if (row >= 0 && !this.isShown(row)) this.focus(-1);
    this.tell("selection");
  }

  point(row) {
    if (row === this.pointed) return;
    this.pointed = row;
    this.tell("pointed");
  }

  filter(marks) {
    this.marks = marks;
    this.countMatches();
    this.tell("filter");
  }

  focus(row) {
    if (row === this.focused) return;
    this.focused = row;
    if (this.pointed >= 0 && !this.isShown(this.pointed)) this.pointed = -1;
    if (this.selected >= 0 && !this.isShown(this.selected)) this.select(row);
    this.countMatches();
    this.tell("focus");
  }

  countMatches() {
    const { model } = this;
    this.matches = this.focused < 0 ? model.count : model.size[this.focused];
    if (!this.marks) return;
    this.matches = 0;
    for (let i = 0; i < model.count; i++) if (this.marks[i] && this.isShown(i)) this.matches++;
  }

  moveTo(now, weights) {
    this.now = now;
    this.weights = weights;
    if (this.colouring.followsTime) this.colouring.choose(this.colouring.key, this);
    this.tell("time");
  }

  colourBy(key) {
    this.colouring.choose(key, this);
    this.tell("colours");
  }

  isShown(row) {
    return this.focused < 0 || isUnder(this.model, row, this.focused);
  }

  isMatch(row) {
    return this.marks === null || this.marks[row] === 1;
  }
}
