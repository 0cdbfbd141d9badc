// The side panel: everything about the selected memory, or an overview while none is selected.

import { halfAperture } from "./cone.js";
import { ancestorsOf, childrenOf } from "./model.js";
import { element, formatAge, formatCount, formatDegrees, formatMoment, oneLine, plural } from "./format.js";
import { scoreTerms, termBar, termKey } from "./hits.js";
import { weightCell } from "./table.js";

const CHILDREN_SHOWN = 40;
const PATH_SHOWN = 12; // of a longer path, its beginning and its end
const PATH_BEGINNING = 3;
const LEVELS_SHOWN = 16;
const EMPTY = [
  ["text", "This memory is empty."],
  ["hint", "mem.add(\"…\") writes the first memory, poincare-memory add FILE TEXT does so from a shell; then write this page anew."],
];

export class Details {
  constructor(host, state, centre) {
    Object.assign(this, { host, state, centre });
    for (const kind of ["selection", "time", "colours", "focus"]) state.on(kind, () => this.render());
    this.render();
  }

  render() {
    const { host } = this;
    const row = this.state.selected;
    const focused = host.contains(document.activeElement) ? document.activeElement : null;
    host.replaceChildren(...(row >= 0 ? this.memory(row) : this.overview()));
    if (focused) this.focusLike(focused);
  }

  // What was used by keyboard is used on: the button of the same name, or the panel itself.
  focusLike(old) {
    const same = (button) => (old.id ? button.id === old.id : button.textContent === old.textContent);
    const next = [...this.host.querySelectorAll("button")].find(same);
    (next ?? this.host).focus({ preventScroll: true });
  }

  memory(row) {
    const { model } = this.state;
    const path = ancestorsOf(model, row).reverse();
    const children = childrenOf(model, row);
    const hit = model.hitOf.get(row);
    return [
      this.head(row),
      path.length ? this.path(path) : null,
      element("p", { class: "text" }, model.texts[row]),
      definitions(this.facts(row)),
      hit ? scoreTerms(hit) : null,
      this.meta(model.metas[row]),
      children.length ? this.links(`Children (${formatCount(this.childCount(row))})`, children, "children", this.childCount(row)) : null,
    ].filter(Boolean);
  }

  facts(row) {
    const { model, now, weights } = this.state;
    const below = model.sampled ? 0 : model.size[row] - 1; // a sample does not know
    const angle = halfAperture(model.depth[row], model.config.curvature, model.config.cone_k);
    return [
      ["Id", model.ids[row]],
      ["Level", this.level(row)],
      ["Depth", model.depth[row].toFixed(4)],
      ["Weight", weightCell(weights[row])],
      ["Accesses", formatCount(model.accesses[row])],
      ["Time", `${formatMoment(model.t[row])} (${formatAge(now - model.t[row])})`],
      ["Valid from", formatMoment(model.validFrom[row])],
      ["Valid until", formatMoment(model.validUntil[row])],
      ["Pinned", model.pinned.has(row) ? "yes, always as new" : ""],
      ["Below it", below ? plural(below, "memory", "memories") : ""],
      ["Cone", angle >= Math.PI ? "everything" : `±${formatDegrees(angle)}`],
    ].filter(([, value]) => value !== "");
  }

  // In the store; a sampled page may hold fewer of them.
  childCount(row) {
    const { model } = this.state;
    return model.sampled?.children[row] ?? childrenOf(model, row).length;
  }

  head(row) {
    const { state } = this;
    const isFocus = state.focused === row;
    const canFocus = isFocus || childrenOf(state.model, row).length > 0;
    return element(
      "div",
      { class: "head" },
      element("h2", {}, "Memory"),
      canFocus ? small(isFocus ? "Show all" : "Focus", () => state.focus(isFocus ? -1 : row), { title: "Show this branch alone (F)", id: "focus" }) : null,
      small("Centre", () => this.centre(row)),
      small("✕", () => state.select(-1), { "aria-label": "Close details" }),
    );
  }

  links(name, rows, kind, total = rows.length) {
    const { model } = this.state;
    const list = element("ul", { class: kind });
    for (const row of rows.slice(0, CHILDREN_SHOWN)) list.append(element("li", {}, this.dot(row), this.link(row)));
    const rest = total - Math.min(rows.length, CHILDREN_SHOWN);
    if (rest > 0) list.append(element("li", { class: "more" }, `and ${formatCount(rest)} more`));
    return element("section", {}, element("h3", {}, name), list);
  }

  path(rows) {
    if (rows.length <= PATH_SHOWN) return this.links("Path", rows, "path");
    const section = this.links("Path", [...rows.slice(0, PATH_BEGINNING), ...rows.slice(PATH_BEGINNING - PATH_SHOWN)], "path");
    const left = rows.length - PATH_SHOWN;
    const gap = element("li", { class: "more" }, `… ${plural(left, "level", "levels")} between …`);
    section.lastChild.children[PATH_BEGINNING - 1].after(gap);
    return section;
  }

  link(row) {
    const button = element("button", { type: "button", class: "plain" }, oneLine(this.state.model.texts[row], 90) || "(no text)");
    button.addEventListener("click", () => this.state.select(row));
    return button;
  }

  dot(row) {
    const dot = element("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = this.state.colouring.colourOf(row);
    return dot;
  }

  meta(meta) {
    if (!Object.keys(meta).length) return null;
    return element(
      "section",
      {},
      element("h3", {}, "Metadata"),
      element("pre", { tabindex: 0, role: "region", "aria-label": "Metadata" }, JSON.stringify(meta, null, 2)),
    );
  }

  level(row) {
    return element("span", { class: "level" }, this.dot(row), String(this.state.model.level[row]));
  }

  overview() {
    const { model, weights } = this.state;
    if (!model.count) return EMPTY.map(([kind, words]) => element("p", { class: kind }, words));
    let mean = 0;
    for (const weight of weights) mean += weight / model.count;
    return [
      model.query ? this.found() : null,
      element("div", { class: "head" }, element("h2", {}, "Overview")),
      this.levels(),
      definitions([["Mean weight", weightCell(mean)]]),
      element(
        "p",
        { class: "hint" },
        "Depth in the hierarchy grows towards the rim, one dashed ring a level; a faded disc has lost weight with " +
          "time, a dashed one is not written yet at the chosen moment. Drag to move the disk, scroll to magnify, " +
          "click a memory for its details, double-click to bring it to the middle.",
      ),
    ].filter(Boolean);
  }

  levels() {
    const { model, colouring } = this.state;
    const counts = new Map();
    for (const level of model.level) counts.set(level, (counts.get(level) ?? 0) + 1);
    let most = 1;
    for (const count of counts.values()) most = Math.max(most, count);
    const list = element("ul", { class: "levels" });
    for (const [level, count] of [...counts].sort((a, b) => a[0] - b[0]).slice(0, LEVELS_SHOWN)) {
      const bar = element("span", { class: "measure", "aria-hidden": "true" }, element("span"));
      bar.firstChild.style.width = `${Math.max(2, (100 * count) / most)}%`;
      bar.firstChild.style.background = colouring.levelColour(level) ?? "var(--accent)";
      list.append(element("li", {}, element("span", {}, `Level ${level}`), bar, element("span", {}, formatCount(count))));
    }
    if (counts.size > LEVELS_SHOWN) {
      list.append(element("li", { class: "more" }, `and ${plural(counts.size - LEVELS_SHOWN, "deeper level", "deeper levels")}`));
    }
    return list;
  }

  // What the query found, best first.
  found() {
    const { hits, query } = this.state.model;
    const list = element("ol", { class: "hits" });
    for (const hit of hits) {
      list.append(
        element(
          "li",
          {},
          element("span", { class: "rank", "aria-hidden": "true" }, String(hit.rank)),
          element("div", {}, this.link(hit.row), termBar(hit, hits)),
          element("span", { class: "score" }, hit.score.toFixed(3)),
        ),
      );
    }
    return element(
      "section",
      { class: "found" },
      element("h2", {}, query.text === null ? "Results" : `Results for “${oneLine(query.text, 120)}”`),
      element("p", { class: "hint" }, `Scores as of ${formatMoment(this.state.model.config.now_ms)}`),
      hits.length ? list : element("p", { class: "hint" }, "Nothing was found."),
      termKey(hits),
    );
  }
}

function definitions(facts) {
  return element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function small(name, act, attributes = {}) {
  const button = element("button", { type: "button", class: "small", ...attributes }, name);
  button.addEventListener("click", act);
  return button;
}
