// The search box: filters every view, and lists the best matches to choose from.

import { element, formatCount, oneLine } from "./format.js";
import { matching, wordsOf } from "./model.js";

const LISTED = 50;
const BEFORE_MATCH = 24; // characters of a long text shown before the word that was found

export class Search {
  // `visit(row)` shows a chosen memory.
  constructor(box, list, count, state, visit) {
    Object.assign(this, { box, list, count, state, visit });
    this.rows = [];
    this.active = -1;
    this.waiting = 0;
    box.addEventListener("input", () => this.later());
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("focus", () => this.show(this.rows.length > 0));
    box.addEventListener("blur", () => this.show(false));
    // The box keeps the focus, so that the list is still there when the click comes.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[data-index]");
      if (option) this.choose(Number(option.dataset.index));
    });
    for (const kind of ["filter", "focus"]) state.on(kind, () => this.tell());
  }

  later() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.apply(), this.state.model.count > 5000 ? 150 : 0);
  }

  apply() {
    const { state, box } = this;
    state.filter(matching(state.model, box.value));
    this.active = -1;
    this.listMatches();
    this.show(document.activeElement === box && state.marks !== null);
  }

  tell() {
    const { state } = this;
    const all = state.focused < 0 ? state.model.count : state.model.size[state.focused];
    this.count.textContent = state.marks ? `${formatCount(state.matches)} of ${formatCount(all)}` : "";
  }

  listMatches() {
    const words = wordsOf(this.box.value);
    this.rows = this.state.marks ? bestMatches(this.state, words) : [];
    const options = this.rows.map((row, index) => this.option(row, index, words));
    const rest = this.state.matches - this.rows.length;
    if (this.state.marks && rest > 0) {
      options.push(element("li", { class: "more", role: "presentation" }, `and ${formatCount(rest)} more; the table has all of them`));
    }
    if (this.state.marks && !this.rows.length) options.push(element("li", { class: "more", role: "presentation" }, "No match"));
    this.list.replaceChildren(...options);
  }

  option(row, index, words) {
    const { model, colouring } = this.state;
    const dot = element("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = colouring.colourOf(row);
    const option = element(
      "li",
      { role: "option", id: `match-${index}`, "aria-selected": "false" },
      dot,
      element("span", { class: "words" }, ...highlighted(model.texts[row], words)),
      element("span", { class: "aside" }, oneLine(model.ids[row], 24)),
    );
    option.dataset.index = String(index);
    return option;
  }

  show(isOpen) {
    this.list.hidden = !isOpen;
    this.box.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) this.activate(-1);
  }

  activate(index) {
    const options = this.list.querySelectorAll("[data-index]");
    options[this.active]?.setAttribute("aria-selected", "false");
    this.active = index;
    if (index < 0) {
      this.box.removeAttribute("aria-activedescendant");
      return;
    }
    options[index].setAttribute("aria-selected", "true");
    options[index].scrollIntoView({ block: "nearest" });
    this.box.setAttribute("aria-activedescendant", options[index].id);
  }

  key(event) {
    const count = this.rows.length;
    if (event.key === "Escape" && !this.list.hidden) this.show(false);
    else if (event.key === "Enter" && count) this.choose(Math.max(0, this.active));
    else if (event.key === "ArrowDown" && count) {
      this.show(true);
      this.activate((this.active + 1) % count);
    } else if (event.key === "ArrowUp" && count) {
      this.show(true);
      this.activate(this.active <= 0 ? count - 1 : this.active - 1);
    } else return;
    event.preventDefault();
  }

  choose(index) {
    this.show(false);
    this.visit(this.rows[index]);
  }
}

// The id itself first, then texts that begin with what was typed, then the shallow ones.
function bestMatches(state, words) {
  const { model, marks } = state;
  const typed = words.join(" ");
  const best = [];
  const rankOf = (row) => {
    if (model.ids[row].toLowerCase() === typed) return 0;
    const text = model.texts[row].toLowerCase();
    if (text.startsWith(typed)) return 1;
    return words.every((word) => text.includes(word)) ? 2 : 3;
  };
  for (let row = 0; row < model.count; row++) if (marks[row] && state.isShown(row)) best.push(row);
  const ranks = new Map(best.map((row) => [row, rankOf(row)]));
  return best.sort((a, b) => ranks.get(a) - ranks.get(b) || model.level[a] - model.level[b] || a - b).slice(0, LISTED);
}

// The text from shortly before the first word found, the words marked.
function highlighted(text, words) {
  const lower = text.toLowerCase();
  // Few characters change their length in lower case; where one does, nothing is marked.
  if (lower.length !== text.length) return [oneLine(text, 120) || "(no text)"];
  const first = nextWord(lower, words, 0)?.start ?? 0;
  const start = first > 60 ? first - BEFORE_MATCH : 0;
  const line = (start ? "… " : "") + oneLine(text.slice(start), 120);
  const found = line.toLowerCase();
  if (!line) return ["(no text)"];
  if (found.length !== line.length) return [line];
  const parts = [];
  for (let place = 0; place < line.length; ) {
    const next = nextWord(found, words, place);
    if (!next) {
      parts.push(line.slice(place));
      break;
    }
    if (next.start > place) parts.push(line.slice(place, next.start));
    parts.push(element("mark", {}, line.slice(next.start, next.end)));
    place = next.end;
  }
  return parts;
}

function nextWord(text, words, from) {
  let best = null;
  for (const word of words) {
    const start = text.indexOf(word, from);
    if (start >= 0 && (!best || start < best.start)) best = { start, end: start + word.length };
  }
  return best;
}
