// How numbers, moments and texts are shown.

export function formatMoment(ms) {
  if (!Number.isFinite(ms)) return "";
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return "";
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

export function formatWeight(weight) {
  if (weight >= 0.001 || weight === 0) return weight.toFixed(3);
  return weight.toExponential(1);
}

export function formatDegrees(radians) {
  const degrees = (radians * 180) / Math.PI;
  return `${degrees >= 0.1 ? degrees.toFixed(1) : degrees.toExponential(1)}°`;
}

export function formatCount(count) {
  return count.toLocaleString("en");
}

export function plural(count, one, many) {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

// One line of at most `length` characters; never cuts a surrogate pair in two.
export function oneLine(text, length) {
  const line = text.slice(0, 4 * length).replace(/\s+/g, " ").trim();
  const characters = Array.from(line);
  return characters.length <= length ? line : `${characters.slice(0, length - 1).join("").trimEnd()}…`;
}

// What stands where no memory is to be listed.
export function nothingIn(state) {
  return state.model.count ? "No memory matches" : "No memories yet";
}

const SPANS = [
  ["year", 31_557_600_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

// "12 days".
export function formatSpan(ms) {
  for (const [unit, length] of SPANS) {
    if (ms >= length) {
      const amount = ms / length;
      const shown = amount < 10 && unit !== "minute" ? Number(amount.toFixed(1)) : Math.round(amount);
      return `${shown} ${unit}${shown === 1 ? "" : "s"}`;
    }
  }
  return "0 minutes";
}

// "12 days ago", seen from the chosen moment.
export function formatAge(ms) {
  if (Math.abs(ms) < 60_000) return "now";
  return `${formatSpan(Math.abs(ms))} ${ms >= 0 ? "ago" : "ahead"}`;
}

// An element with text and attributes; text is only ever set as text.
export function element(tag, attributes = {}, ...content) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...content.filter((part) => part !== null && part !== undefined));
  return node;
}
