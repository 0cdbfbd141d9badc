// Colours for light and dark ground: classes, a ramp for amounts; the rest comes from the style sheet.

const CLASSES_LIGHT = ["#2f6fde", "#0e8f9c", "#2f9150", "#8f7d10", "#cf6a1e", "#cb3f5b", "#a245b5", "#6558d3"];
const CLASSES_DARK = ["#7fb0ff", "#4fd0d8", "#79d88c", "#dcc652", "#f5a562", "#f78a99", "#d796ea", "#aaa1ff"];
const REST_LIGHT = "#7d8695", REST_DARK = "#8a94a5";
// Little to much; much stands out most from the ground.
const RAMP_LIGHT = ["#5794ad", "#3582bd", "#3c62b8", "#5b3a9b", "#3d0f52"];
const RAMP_DARK = ["#53739c", "#4a8fc9", "#45b8c4", "#9be0a5", "#f7f7b0"];

export const CLASSES = CLASSES_LIGHT.length;
export const REST = CLASSES; // the class of what belongs to no other
export const STEPS = 12; // of the ramp

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function classColours() {
  return isDark() ? [...CLASSES_DARK, REST_DARK] : [...CLASSES_LIGHT, REST_LIGHT];
}

// The steps of the ramp, then the colour of what has no amount.
export function rampColours() {
  const stops = isDark() ? RAMP_DARK : RAMP_LIGHT;
  const ramp = Array.from({ length: STEPS }, (_, step) => {
    const place = (step / (STEPS - 1)) * (stops.length - 1);
    const stop = Math.min(stops.length - 2, Math.floor(place));
    return mixed(stops[stop], stops[stop + 1], place - stop);
  });
  return [...ramp, isDark() ? REST_DARK : REST_LIGHT];
}

function mixed(first, second, part) {
  const a = parseInt(first.slice(1), 16), b = parseInt(second.slice(1), 16);
  let value = 0;
  for (const shift of [16, 8, 0]) {
    const from = (a >> shift) & 255, to = (b >> shift) & 255;
    value |= Math.round(from + (to - from) * part) << shift;
  }
  return `#${value.toString(16).padStart(6, "0")}`;
}

export function styleColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
