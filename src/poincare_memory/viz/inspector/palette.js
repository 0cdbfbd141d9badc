// Colours: one a level, read on light and on dark ground; the rest comes from the style sheet.

const LEVELS_LIGHT = ["#2f6fde", "#0e8f9c", "#2f9150", "#8f7d10", "#cf6a1e", "#cb3f5b", "#a245b5", "#6558d3"];
const LEVELS_DARK = ["#7fb0ff", "#4fd0d8", "#79d88c", "#dcc652", "#f5a562", "#f78a99", "#d796ea", "#aaa1ff"];

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function levelColours() {
  return isDark() ? LEVELS_DARK : LEVELS_LIGHT;
}

export function levelColour(level) {
  const colours = levelColours();
  return colours[level % colours.length];
}

export function styleColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
