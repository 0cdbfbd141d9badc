// What the colour of a memory says: its level, an amount (weight, age, accesses, a number of its metadata),
// its tree, or a word of its metadata.

import { formatCount, formatSpan, formatWeight, oneLine } from "./format.js";
import { CLASSES, REST, STEPS, classColours, rampColours } from "./palette.js";

const MOST_KEYS = 40;
const FEW_NUMBERS = 6; // as many different numbers are classes, more are an amount

export class Colouring {
  constructor(model) {
    this.model = model;
    this.shades = new Uint8Array(model.count);
    this.choose("level", null);
  }

  get followsTime() {
    return this.key === "weight" || this.key === "age";
  }

  // "level", "weight", "age", "accesses", "root" or "meta:" and a key; `state` has the moment and the weights.
  choose(key, state) {
    this.key = key;
    if (key === "level") this.byLevel();
    else if (key === "weight") this.byAmount(state.weights, formatWeight, (weight) => weight, [0, 1]);
    else if (key === "age") this.byAmount(agesAt(this.model, state.now), formatSpan, (ms) => Math.log1p(ms / 3.6e6));
    else if (key === "accesses") this.byAmount(this.model.accesses, formatCount, Math.log1p);
    else if (key === "root") this.byRoot();
    else this.byMeta(key.slice("meta:".length));
  }

  // Colours by shade, as they are in the chosen scheme.
  colours() {
    return this.isRamp ? rampColours() : classColours();
  }

  colourOf(row) {
    return this.colours()[this.shades[row]];
  }

  // The colour of a whole level; null where the colours say something else.
  levelColour(level) {
    return this.key === "level" ? this.colours()[level % CLASSES] : null;
  }

  byLevel() {
    const { level, maxLevel, count } = this.model;
    for (let i = 0; i < count; i++) this.shades[i] = level[i] % CLASSES;
    this.isRamp = false;
    const items = [];
    for (let l = 0; l <= Math.min(maxLevel, CLASSES - 1) && count; l++) {
      const more = maxLevel >= l + CLASSES ? `, ${l + CLASSES}${maxLevel >= l + 2 * CLASSES ? ", …" : ""}` : "";
      items.push({ shade: l, name: `Level ${l}${more}` });
    }
    this.legend = { items };
  }

  byAmount(values, format, scale, bounds = null) {
    let [low, high] = bounds ?? [Infinity, -Infinity];
    if (!bounds) {
      for (const value of values) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    const start = scale(low), range = scale(high) - start;
    let without = 0;
    for (let i = 0; i < values.length; i++) {
      const part = range > 0 ? (scale(values[i]) - start) / range : 1;
      const has = values[i] !== undefined && !Number.isNaN(part);
      this.shades[i] = has ? Math.max(0, Math.min(STEPS - 1, Math.floor(part * STEPS))) : STEPS;
      if (!has) without++;
    }
    this.isRamp = true;
    this.legend = values.length ? { from: format(low), to: format(high), without } : { items: [] };
  }

  byRoot() {
    const { model } = this;
    const tops = new Int32Array(model.count);
    for (const row of model.sequence) tops[row] = model.parent[row] < 0 ? row : tops[model.parent[row]];
    this.byClass(tops, model.roots.map((row) => [row, model.size[row]]), (row) => oneLine(model.texts[row], 60));
  }

  byMeta(key) {
    const { metas, count } = this.model;
    const values = metas.map((meta) => (Object.hasOwn(meta, key) ? meta[key] : undefined));
    const given = new Set(values);
    given.delete(undefined);
    const isAmount = given.size > FEW_NUMBERS && [...given].every((value) => typeof value === "number");
    if (isAmount) {
      this.byAmount(values, (value) => String(Number(value.toPrecision(6))), (value) => value);
      return;
    }
    const names = values.map((value) => (value === undefined ? null : wordFor(value)));
    const counts = new Map();
    for (const name of names) if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
    this.byClass(names, [...counts], (name) => oneLine(name, 60) || "(empty)");
    if (!count) this.legend = { items: [] };
  }

  // The largest classes have a colour each; `sizes` are pairs of class and size.
  byClass(classes, sizes, nameOf) {
    const largest = sizes.sort((a, b) => b[1] - a[1]).slice(0, CLASSES);
    const shadeOf = new Map(largest.map(([name], shade) => [name, shade]));
    let rest = 0;
    for (let i = 0; i < classes.length; i++) {
      this.shades[i] = shadeOf.get(classes[i]) ?? REST;
      if (this.shades[i] === REST) rest++;
    }
    this.isRamp = false;
    const items = largest.map(([name, size], shade) => ({ shade, name: nameOf(name), size }));
    if (rest) items.push({ shade: REST, name: sizes.length > CLASSES ? "other" : "none", size: rest });
    this.legend = { items };
  }
}

// Keys of the metadata, the most used first.
export function metaKeys(model) {
  const counts = new Map();
  for (const meta of model.metas) for (const key of Object.keys(meta)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_KEYS).map(([key]) => key);
}

function agesAt(model, now) {
  return Float64Array.from(model.t, (t) => Math.max(0, now - t));
}

function wordFor(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
