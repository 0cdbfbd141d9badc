// The parts of a hit's score, in words and as bars.

import { element } from "./format.js";

const TERMS = [
  ["distance", "Distance"],
  ["depth", "Depth"],
  ["time", "Time"],
  ["lexical", "Words"],
];

// The table of a score: each term that is there, and their sum.
export function scoreTerms(hit) {
  const body = element("tbody");
  for (const [key, name] of termsOf(hit)) body.append(line(name, hit.terms[key]));
  body.append(line("Score", hit.score, "sum"));
  return element(
    "section",
    {},
    element("h3", {}, `Hit ${hit.rank}`),
    element("table", { class: "terms", "aria-label": "Terms of the score" }, body),
  );
}

function termsOf(hit) {
  return TERMS.filter(([key]) => hit.terms && Number.isFinite(hit.terms[key]) && (hit.terms[key] !== 0 || key === "distance"));
}

function line(name, value, kind = "") {
  return element("tr", { class: kind }, element("th", { scope: "row" }, name), element("td", {}, signed(value)));
}

function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`;
}

// What the colours of the bars are.
export function termKey(hits) {
  const used = TERMS.filter((term) => hits.some((hit) => termsOf(hit).includes(term)));
  if (!used.length) return null;
  return element(
    "ul",
    { class: "terms-key", "aria-label": "Colours of the terms" },
    ...used.map(([key, name]) => element("li", {}, element("span", { class: `dot part-${key}`, "aria-hidden": "true" }), name)),
  );
}

// One bar a term, all hits on one scale: what a score loses to distance and time, gains from depth and words.
export function termBar(hit, hits) {
  let widest = 1e-9;
  for (const other of hits) {
    let total = 0;
    for (const [key] of termsOf(other)) total += Math.abs(other.terms[key]);
    widest = Math.max(widest, total);
  }
  const parts = termsOf(hit);
  const bar = element("div", {
    class: "parts",
    role: "img",
    "aria-label": parts.map(([key, name]) => `${name} ${hit.terms[key].toFixed(3)}`).join(", ") || "score only",
  });
  for (const [key, name] of parts) {
    const part = element("span", { class: `part-${key}`, title: `${name} ${signed(hit.terms[key])}` });
    part.style.width = `${(100 * Math.abs(hit.terms[key])) / widest}%`;
    bar.append(part);
  }
  return bar;
}
