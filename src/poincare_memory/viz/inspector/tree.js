// The hierarchy as a tree that opens on demand; only the rows on screen are in the page.

import { ancestorsOf, childrenOf } from "./model.js";
import { element, formatCount, formatWeight, nothingIn, oneLine } from "./format.js";
import { VirtualRows } from "./rows.js";

const ROW_HEIGHT = 30;
const OPEN_AT_FIRST = 300;
const DEEPEST_INDENT = 24;

export class Tree {
  constructor(host, state) {
    this.state = state;
    this.host = host;
    this.openRows = new Uint8Array(state.model.count);
    this.focus = -1;
    this.visible = [];
    this.openTopLevels();
    host.setAttribute("role", "tree");
    host.setAttribute("aria-label", "Hierarchy");
    host.tabIndex = 0;
    this.rows = new VirtualRows(host, host, ROW_HEIGHT, (index) => this.row(index), spacer, () =>
      element("div", { role: "presentation", class: "nothing" }, nothingIn(state)),
    );
    for (const kind of ["filter", "focus"]) state.on(kind, () => this.change());
    for (const kind of ["time", "colours"]) state.on(kind, () => this.rows.later());
    state.on("selection", () => this.reveal(state.selected));
    host.addEventListener("click", (event) => this.click(event));
    host.addEventListener("keydown", (event) => this.key(event));
  }

  // As many whole levels as fit into the first few hundred rows.
  openTopLevels() {
    const { model } = this.state;
    let level = model.roots, shown = level.length;
    while (level.length) {
      const next = level.flatMap((row) => Array.from(childrenOf(model, row)));
      shown += next.length;
      if (shown > OPEN_AT_FIRST) return;
      for (const row of level) this.openRows[row] = 1;
      level = next;
    }
  }

  change() {
    this.stale = true;
    if (this.host.clientHeight) this.open();
  }

  open() {
    this.kept = this.keptByFilter();
    this.visible = this.listVisible();
    this.stale = false;
    this.rows.show(this.visible.length);
  }

  // With a filter: the matches and the way to them.
  keptByFilter() {
    const { model, marks } = this.state;
    if (!marks) return null;
    const kept = new Uint8Array(model.count);
    for (let i = 0; i < model.count; i++) {
      for (let up = i; marks[i] && up >= 0 && !kept[up]; up = model.parent[up]) kept[up] = 1;
    }
    return kept;
  }

  listVisible() {
    const { model, focused } = this.state;
    const visible = [];
    const pending = focused < 0 ? model.roots.slice().reverse() : [focused];
    while (pending.length) {
      const row = pending.pop();
      if (this.kept && !this.kept[row]) continue;
      visible.push(row);
      if (!this.isOpen(row)) continue;
      const children = childrenOf(model, row);
      for (let c = children.length - 1; c >= 0; c--) pending.push(children[c]);
    }
    return visible;
  }

  isOpen(row) {
    return this.kept !== null && this.kept !== undefined ? this.kept[row] === 1 : this.openRows[row] === 1;
  }

  row(index) {
    const { state } = this;
    const { model } = state;
    const i = this.visible[index];
    const children = childrenOf(model, i).length;
    const item = element("div", {
      role: "treeitem",
      id: `tree-${i}`,
      class: `branch${state.isMatch(i) ? "" : " faint"}${i === this.focus ? " focus" : ""}`,
      "aria-level": model.level[i] + 1,
      "aria-posinset": this.siblings(i).indexOf(i) + 1,
      "aria-setsize": this.siblings(i).length,
      "aria-selected": i === state.selected ? "true" : "false",
      "aria-expanded": children ? String(this.isOpen(i)) : null,
    });
    item.dataset.row = String(i);
    const indent = model.level[i] - (state.focused < 0 ? 0 : model.level[state.focused]);
    item.style.paddingInlineStart = `${8 + 18 * Math.min(DEEPEST_INDENT, indent)}px`;
    const dot = element("span", { class: "dot" });
    dot.style.background = state.colouring.colourOf(i);
    item.append(
      element("span", { class: "caret", "aria-hidden": "true" }, children ? "›" : ""),
      dot,
      element("span", { class: "words" }, oneLine(model.texts[i], 300) || "(no text)"),
      element(
        "span",
        { class: "aside" },
        children ? formatCount(children) : "",
        element("span", { class: "rest" }, `${children ? " · " : ""}d ${model.depth[i].toFixed(2)} · w ${formatWeight(state.weights[i])}`),
      ),
    );
    return item;
  }

  siblings(row) {
    const { model, focused } = this.state;
    if (row === focused) return [row];
    return model.parent[row] < 0 ? model.roots : childrenOf(model, model.parent[row]);
  }

  click(event) {
    const item = event.target.closest("[data-row]");
    if (!item) return;
    const row = Number(item.dataset.row);
    this.setFocus(row);
    if (event.target.closest(".caret")) this.toggle(row);
    else this.state.select(row);
  }

  toggle(row, opened = !this.openRows[row]) {
    this.openRows[row] = opened ? 1 : 0;
    this.open();
  }

  setFocus(row) {
    this.focus = row;
    this.host.setAttribute("aria-activedescendant", `tree-${row}`);
    this.rows.later();
  }

  key(event) {
    const { model } = this.state;
    const index = this.visible.indexOf(this.focus);
    const row = this.focus;
    const children = row >= 0 ? childrenOf(model, row).length : 0;
    let next = index;
    if (event.key === "ArrowDown") next = Math.min(this.visible.length - 1, index + 1);
    else if (event.key === "ArrowUp") next = Math.max(0, index - 1);
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = this.visible.length - 1;
    else if (event.key === "ArrowRight" && children && !this.isOpen(row)) this.toggle(row, true);
    else if (event.key === "ArrowRight" && children) next = index + 1;
    else if (event.key === "ArrowLeft" && children && this.openRows[row]) this.toggle(row, false);
    else if (event.key === "ArrowLeft" && row >= 0) next = this.visible.indexOf(model.parent[row]);
    else if ((event.key === "Enter" || event.key === " ") && row >= 0) this.state.select(row);
    else return;
    event.preventDefault();
    if (next >= 0 && next < this.visible.length && next !== index) {
      this.setFocus(this.visible[next]);
      this.rows.reveal(next);
    }
  }

  // Opens the way to a memory.
  reveal(row) {
    if (row >= 0) {
      for (const up of ancestorsOf(this.state.model, row)) this.openRows[up] = 1;
      this.focus = row;
    }
    if (!this.host.clientHeight) return;
    this.open();
    const index = this.visible.indexOf(row);
    if (index >= 0) this.rows.reveal(index);
  }
}

function spacer(height) {
  const block = element("div", { role: "presentation" });
  block.style.height = `${height}px`;
  return block;
}
