// The side panel: everything about the selected memory, or an overview while none is selected.

import { ancestorsOf, childrenOf } from "./model.js";
import { element, formatAge, formatCount, formatMoment, oneLine, plural } from "./format.js";
import { levelColour } from "./palette.js";
import { weightCell } from "./table.js";

const CHILDREN_SHOWN = 40;
const LEVELS_SHOWN = 16;

export class Details {
  constructor(host, state, centre) {
    Object.assign(this, { host, state, centre });
    for (const kind of ["selection", "time", "theme"]) state.on(kind, () => this.render());
    this.render();
  }

  render() {
    const row = this.state.selected;
    this.host.replaceChildren(...(row >= 0 ? this.memory(row) : this.overview()));
  }

  memory(row) {
    const { model, now, weights } = this.state;
    const path = ancestorsOf(model, row).reverse();
    const children = childrenOf(model, row);
    const facts = [
      ["Id", model.ids[row]],
      ["Level", this.level(model.level[row])],
      ["Depth", model.depth[row].toFixed(4)],
      ["Weight", weightCell(weights[row])],
      ["Accesses", formatCount(model.accesses[row])],
      ["Time", `${formatMoment(model.t[row])} (${formatAge(now - model.t[row])})`],
      ["Valid from", formatMoment(model.validFrom[row])],
      ["Valid until", formatMoment(model.validUntil[row])],
    ].filter(([, value]) => value !== "");
    return [
      this.head(row),
      path.length ? this.links("Path", path, "path") : null,
      element("p", { class: "text" }, model.texts[row]),
      element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
      this.meta(model.metas[row]),
      children.length ? this.links(`Children (${formatCount(children.length)})`, children, "children") : null,
    ].filter(Boolean);
  }

  head(row) {
    const middle = element("button", { type: "button", class: "small" }, "Centre");
    middle.addEventListener("click", () => this.centre(row));
    const close = element("button", { type: "button", class: "small", "aria-label": "Close details" }, "✕");
    close.addEventListener("click", () => this.state.select(-1));
    return element("div", { class: "head" }, element("h2", {}, "Memory"), middle, close);
  }

  links(name, rows, kind) {
    const { model } = this.state;
    const list = element("ul", { class: kind });
    for (const row of rows.slice(0, CHILDREN_SHOWN)) {
      const button = element("button", { type: "button", class: "plain" }, oneLine(model.texts[row], 90) || "(no text)");
      button.addEventListener("click", () => this.state.select(row));
      const dot = element("span", { class: "dot" });
      dot.style.background = levelColour(model.level[row]);
      list.append(element("li", {}, dot, button));
    }
    if (rows.length > CHILDREN_SHOWN) {
      list.append(element("li", { class: "more" }, `and ${formatCount(rows.length - CHILDREN_SHOWN)} more`));
    }
    return element("section", {}, element("h3", {}, name), list);
  }

  meta(meta) {
    if (!Object.keys(meta).length) return null;
    return element(
      "section",
      {},
      element("h3", {}, "Metadata"),
      element("pre", { tabindex: 0 }, JSON.stringify(meta, null, 2)),
    );
  }

  level(level) {
    const dot = element("span", { class: "dot" });
    dot.style.background = levelColour(level);
    return element("span", { class: "level" }, dot, String(level));
  }

  overview() {
    const { model, weights } = this.state;
    if (!model.count) return [element("p", { class: "text" }, "This memory is empty.")];
    const counts = new Map();
    for (const level of model.level) counts.set(level, (counts.get(level) ?? 0) + 1);
    let most = 1, mean = 0;
    for (const count of counts.values()) most = Math.max(most, count);
    for (const weight of weights) mean += weight / model.count;
    const list = element("ul", { class: "levels" });
    for (const [level, count] of [...counts].sort((a, b) => a[0] - b[0]).slice(0, LEVELS_SHOWN)) {
      const bar = element("span", { class: "measure", "aria-hidden": "true" }, element("span"));
      bar.firstChild.style.width = `${Math.max(2, (100 * count) / most)}%`;
      bar.firstChild.style.background = levelColour(level);
      list.append(element("li", {}, element("span", {}, `Level ${level}`), bar, element("span", {}, formatCount(count))));
    }
    if (counts.size > LEVELS_SHOWN) {
      list.append(element("li", { class: "more" }, `and ${plural(counts.size - LEVELS_SHOWN, "deeper level", "deeper levels")}`));
    }
    return [
      element("div", { class: "head" }, element("h2", {}, "Overview")),
      list,
      element("dl", {}, element("dt", {}, "Mean weight"), element("dd", {}, weightCell(mean))),
      element(
        "p",
        { class: "hint" },
        "Distance from the centre is depth in the hierarchy; a faded disc has lost weight with time, a dashed one " +
          "is not written yet at the chosen moment. Drag to move the disk, scroll to magnify, click a memory for its " +
          "details, double-click to bring it to the middle.",
      ),
    ];
  }
}
