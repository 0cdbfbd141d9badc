// The choice of what the colours say, and what each of them says.

import { metaKeys } from "./colouring.js";
import { element, formatCount, oneLine } from "./format.js";

const FIXED = [
  ["level", "Level"],
  ["weight", "Weight"],
  ["age", "Age"],
  ["accesses", "Accesses"],
  ["root", "Root"],
];

export class Legend {
  constructor(choice, host, state) {
    Object.assign(this, { choice, host, state });
    for (const [value, name] of FIXED) choice.append(element("option", { value }, name));
    const keys = metaKeys(state.model);
    if (keys.length) {
      const group = element("optgroup", { label: "Metadata" });
      for (const key of keys) group.append(element("option", { value: `meta:${key}` }, oneLine(key, 40) || "(empty key)"));
      choice.append(group);
    }
    choice.addEventListener("change", () => state.colourBy(choice.value));
    for (const kind of ["colours", "time"]) state.on(kind, () => this.render());
    this.render();
  }

  render() {
    const { colouring } = this.state;
    const colours = colouring.colours();
    const { legend } = colouring;
    this.host.replaceChildren(...(legend.items ? this.classes(legend.items, colours) : this.ramp(legend, colours)));
  }

  classes(items, colours) {
    return items.map(({ shade, name, size }) => {
      const dot = element("span", { class: "dot", "aria-hidden": "true" });
      dot.style.background = colours[shade];
      return element(
        "li",
        {},
        dot,
        element("span", { class: "words" }, name),
        size === undefined ? null : element("span", { class: "aside" }, formatCount(size)),
      );
    });
  }

  ramp({ from, to, without }, colours) {
    const strip = element("span", { class: "ramp", "aria-hidden": "true" });
    strip.style.background = `linear-gradient(to right, ${colours.slice(0, -1).join(", ")})`;
    const amounts = element(
      "li",
      { class: "amounts" },
      strip,
      element("span", {}, from),
      element("span", { class: "visually-hidden" }, " to "),
      element("span", {}, to),
    );
    const rest = without ? [{ shade: colours.length - 1, name: "none", size: without }] : [];
    return [amounts, ...this.classes(rest, colours)];
  }
}
