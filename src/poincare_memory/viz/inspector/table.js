// All memories as a table: sortable, filtered, only the rows on screen in the page.

import { element, formatMoment, formatWeight, nothingIn, oneLine } from "./format.js";
import { VirtualRows } from "./rows.js";

const ROW_HEIGHT = 34;

const COLUMNS = [
  { key: "text", name: "Memory", value: (model) => lowered(model), show: (s, i) => oneLine(s.model.texts[i], 400) },
  { key: "level", name: "Level", number: true, value: (model) => model.level, show: (s, i) => levelCell(s, i) },
  { key: "depth", name: "Depth", number: true, value: (model) => model.depth, show: (s, i) => s.model.depth[i].toFixed(2) },
  { key: "t", name: "Time (UTC)", value: (model) => model.t, show: (s, i) => formatMoment(s.model.t[i]).slice(0, -4) },
  { key: "weight", name: "Weight", number: true, value: (model, s) => s.weights, show: (s, i) => weightCell(s.weights[i]) },
  { key: "accesses", name: "Accesses", number: true, value: (model) => model.accesses, show: (s, i) => String(s.model.accesses[i]) },
  { key: "id", name: "Id", value: (model) => model.ids, show: (s, i) => oneLine(s.model.ids[i], 80) },
  { key: "meta", name: "Metadata", show: (s, i) => metaText(s.model.metas[i]) },
];

// Of the hits, where a query is shown.
const SCORE = {
  key: "score",
  name: "Score",
  number: true,
  value: (model) => Float64Array.from(model.ids, (_, i) => model.hitOf.get(i)?.score ?? -Infinity),
  show: (s, i) => s.model.hitOf.get(i)?.score.toFixed(3) ?? "",
};

export class Table {
  constructor(host, state) {
    this.state = state;
    this.host = host;
    const columns = state.model.hits.length ? [COLUMNS[0], SCORE, ...COLUMNS.slice(1)] : COLUMNS;
    const hasMeta = state.model.metas.some((meta) => Object.keys(meta).length > 0);
    this.columns = columns.filter((column) => hasMeta || column.key !== "meta");
    this.sortKey = null;
    this.falling = false;
    this.body = element("tbody");
    this.heads = this.columns.map((column) => this.headCell(column));
    this.table = element(
      "table",
      { "aria-label": "Memories", class: `columns-${this.columns.length}` },
      element("thead", {}, element("tr", { "aria-rowindex": 1 }, ...this.heads)),
      this.body,
    );
    host.append(this.table);
    this.rows = new VirtualRows(host, this.body, ROW_HEIGHT, (index) => this.row(index), spacerRow, () => this.nothingRow());
    this.stale = true;
    for (const kind of ["filter", "focus"]) state.on(kind, () => this.change());
    state.on("time", () => (this.sortKey === "weight" ? this.change() : this.rows.later()));
    for (const kind of ["colours", "selection"]) state.on(kind, () => this.rows.later());
    this.body.addEventListener("click", (event) => this.pick(event));
    this.body.addEventListener("keydown", (event) => this.key(event));
  }

  headCell(column) {
    const cell = element("th", { scope: "col", class: `column-${column.key}`, "data-key": column.key });
    if (!column.value) {
      cell.append(column.name);
      return cell;
    }
    const button = element("button", { type: "button", title: `Sort by ${column.name.toLowerCase()}` }, column.name);
    button.addEventListener("click", () => this.sortBy(column.key));
    cell.append(button);
    return cell;
  }

  // First click: rising for words and times, falling for numbers; second: the other way; third: as inserted.
  sortBy(key) {
    const startsFalling = Boolean(this.columns.find((column) => column.key === key).number);
    if (this.sortKey !== key) [this.sortKey, this.falling] = [key, startsFalling];
    else if (this.falling === startsFalling) this.falling = !startsFalling;
    else this.sortKey = null;
    for (const head of this.heads) {
      const sorted = head.dataset.key === this.sortKey;
      if (sorted) head.setAttribute("aria-sort", this.falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    this.host.scrollTop = 0;
    this.change();
  }

  change() {
    this.stale = true;
    if (this.host.clientHeight) this.open();
  }

  // Called when the tab is shown: work that nobody sees is not done.
  open() {
    if (this.stale) this.order = this.sorted();
    this.stale = false;
    this.table.setAttribute("aria-rowcount", this.order.length + 1);
    this.rows.show(this.order.length);
  }

  sorted() {
    const { state } = this;
    const { model } = state;
    const rows = [];
    for (let i = 0; i < model.count; i++) if (state.isMatch(i) && state.isShown(i)) rows.push(i);
    if (this.sortKey === null) return rows;
    const values = this.columns.find((column) => column.key === this.sortKey).value(model, state);
    const sign = this.falling ? -1 : 1;
    return rows.sort((a, b) => sign * ((values[a] > values[b]) - (values[a] < values[b])) || a - b);
  }

  row(index) {
    const i = this.order[index];
    const selected = i === this.state.selected;
    const row = element("tr", {
      "aria-rowindex": index + 2,
      "aria-current": selected ? "true" : null,
      class: index % 2 ? "odd" : "",
    });
    row.dataset.row = String(i);
    for (const column of this.columns) {
      const cell = element("td", { class: `column-${column.key}` });
      const content = column.show(this.state, i);
      if (column.key === "text") cell.append(element("button", { type: "button", class: "plain" }, content || "(no text)"));
      else cell.append(content);
      row.append(cell);
    }
    return row;
  }

  nothingRow() {
    const cell = element("td", { class: "nothing", colspan: this.columns.length }, nothingIn(this.state));
    return element("tr", { class: "spacer" }, cell);
  }

  // Up and down from row to row.
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest("tr[data-row]");
    if (!step || !row) return;
    event.preventDefault();
    const next = Number(row.getAttribute("aria-rowindex")) - 2 + step;
    if (next < 0 || next >= this.order.length) return;
    this.rows.reveal(next);
    this.rows.focusRow(String(this.order[next]));
  }

  pick(event) {
    const row = event.target.closest("tr[data-row]");
    if (row) this.state.select(Number(row.dataset.row));
  }
}

function spacerRow(height) {
  const row = element("tr", { class: "spacer", "aria-hidden": "true" });
  row.style.height = `${height}px`;
  return row;
}

function lowered(model) {
  model.lowered ??= model.texts.map((text) => text.toLowerCase());
  return model.lowered;
}

function levelCell(state, row) {
  const dot = element("span", { class: "dot" });
  dot.style.background = state.colouring.colourOf(row);
  return element("span", { class: "level" }, dot, String(state.model.level[row]));
}

export function weightCell(weight) {
  const bar = element("span", { class: "bar", "aria-hidden": "true" }, element("span"));
  bar.firstChild.style.width = `${Math.round(100 * weight)}%`;
  return element("span", { class: "weight" }, bar, formatWeight(weight));
}

function metaText(meta) {
  const keys = Object.keys(meta);
  if (!keys.length) return "";
  const parts = keys.slice(0, 12).map((key) => {
    const value = typeof meta[key] === "string" ? meta[key] : JSON.stringify(meta[key]);
    return `${key}: ${value}`;
  });
  return oneLine(parts.join(" · "), 200);
}
