// What the views share: the moment, the filter, what is selected and what is pointed at.

export class State {
  constructor(model) {
    this.model = model;
    this.now = model.config.now_ms;
    this.weights = model.openingWeights;
    this.marks = null; // per memory 1 where the filter matches; null without a filter
    this.matches = model.count;
    this.selected = -1;
    this.pointed = -1;
    this.listeners = new Map();
  }

  // Kinds: "time", "filter", "selection", "pointed", "theme".
  on(kind, listener) {
    if (!this.listeners.has(kind)) this.listeners.set(kind, []);
    this.listeners.get(kind).push(listener);
  }

  tell(kind) {
    for (const listener of this.listeners.get(kind) ?? []) listener();
  }

  select(row) {
    if (row === this.selected) return;
    this.selected = row;
    this.tell("selection");
  }

  point(row) {
    if (row === this.pointed) return;
    this.pointed = row;
    this.tell("pointed");
  }

  filter(marks) {
    this.marks = marks;
    this.matches = this.model.count;
    if (marks) {
      this.matches = 0;
      for (let i = 0; i < marks.length; i++) this.matches += marks[i];
    }
    this.tell("filter");
  }

  moveTo(now, weights) {
    this.now = now;
    this.weights = weights;
    this.tell("time");
  }

  isMatch(row) {
    return this.marks === null || this.marks[row] === 1;
  }
}
