// Starts the page: reads the data block and connects the views with the controls.

import { Details } from "./details.js";
import { Disk } from "./disk.js";
import { formatCount, oneLine, plural } from "./format.js";
import { Legend } from "./legend.js";
import { readModel } from "./model.js";
import { isDark } from "./palette.js";
import { describePolicy } from "./policies.js";
import { saveJson, savePng, saveSvg } from "./save.js";
import { Search } from "./search.js";
import { State } from "./state.js";
import { Table } from "./table.js";
import { Timeline } from "./timeline.js";
import { Times } from "./times.js";
import { Tree } from "./tree.js";

const LABELS_AT_FIRST = 3000; // beyond, the crowd is the picture
const ZOOM = 1.4;

const find = (id) => document.getElementById(id);

function start() {
  const text = find("data").textContent;
  const model = readModel(JSON.parse(text));
  const state = new State(model);
  describe(model);
  const disk = new Disk(find("stage"), state);
  const views = { disk, table: new Table(find("table"), state), tree: new Tree(find("tree"), state) };
  connectTabs(views);
  new Legend(find("colour"), find("legend"), state);
  new Details(find("details"), state, (row) => {
    showTab("disk", views);
    disk.centre(row);
  });
  const floor = Number(document.body.dataset.minWeight);
  new Times(find("times"), state, new Timeline(find("time"), find("moment"), find("now"), state, floor));
  new Search(find("filter"), find("match-list"), find("matches"), state, (row) => {
    state.select(row);
    if (disk.isVisible) disk.centre(row);
  });
  connectFocus(state);
  connectButtons(state, disk, text);
  connectLink(state, model);
}

function describe(model) {
  const { config, sampled } = model;
  const facts = [
    plural(config.count, "memory", "memories"),
    `${config.dim} dimensions`,
    `curvature ${config.curvature}`,
    describePolicy(config.decay),
    `${config.layout} layout`,
  ];
  find("facts").textContent = facts.join("  ·  ");
  find("nothing").hidden = model.count > 0;
  if (!sampled) return;
  find("sampled").hidden = false;
  find("sampled").textContent =
    `A sample: this page holds ${formatCount(model.count)} of ${plural(config.count, "memory", "memories")}, taken ` +
    "evenly from the whole hierarchy, each with its path to the root. Search, table and tree see the sample alone.";
}

function connectTabs(views) {
  const tabs = [...document.querySelectorAll('[role="tab"]')];
  for (const tab of tabs) {
    tab.addEventListener("click", () => showTab(tab.dataset.view, views));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
      showTab(next.dataset.view, views);
      next.focus();
    });
  }
}

function showTab(name, views) {
  for (const tab of document.querySelectorAll('[role="tab"]')) {
    const shown = tab.dataset.view === name;
    tab.setAttribute("aria-selected", String(shown));
    tab.tabIndex = shown ? 0 : -1;
    find(tab.getAttribute("aria-controls")).hidden = !shown;
  }
  if (name === "disk") views.disk.resize();
  else views[name].open();
}

// Says which branch alone is shown, and ends that.
function connectFocus(state) {
  const bar = find("focus-bar");
  const show = () => {
    bar.hidden = state.focused < 0;
    if (state.focused >= 0) bar.firstElementChild.textContent = `Only “${oneLine(state.model.texts[state.focused], 60)}”`;
  };
  bar.lastElementChild.addEventListener("click", () => state.focus(-1));
  state.on("focus", show);
}

function connectButtons(state, disk, text) {
  const labels = find("labels");
  labels.checked = state.model.count <= LABELS_AT_FIRST;
  disk.showLabels = labels.checked;
  disk.redraw();
  labels.addEventListener("change", () => {
    disk.showLabels = labels.checked;
    disk.redraw();
  });
  const cone = find("cone");
  cone.addEventListener("change", () => {
    disk.overlay.showCone = cone.checked;
    disk.drawOverlay();
  });
  find("reset").addEventListener("click", () => disk.reset());
  find("zoom-in").addEventListener("click", () => disk.zoom(ZOOM));
  find("zoom-out").addEventListener("click", () => disk.zoom(1 / ZOOM));
  find("save-png").addEventListener("click", () => savePng(disk));
  find("save-svg").addEventListener("click", () => saveSvg(disk, document.title));
  find("download").addEventListener("click", () => saveJson(text));
  find("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    state.tell("colours");
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.tell("colours"));
}

// `#id=…` names the selected memory, so that a link can point at it.
function connectLink(state, model) {
  const follow = () => {
    const id = new URLSearchParams(location.hash.slice(1)).get("id");
    if (id !== null && model.rowOf.has(id)) state.select(model.rowOf.get(id));
  };
  addEventListener("hashchange", follow);
  follow();
  if (location.protocol === "about:") return; // a frame of a notebook has no address
  state.on("selection", () => {
    const address = new URL(location.href);
    address.hash = state.selected < 0 ? "" : new URLSearchParams({ id: model.ids[state.selected] });
    history.replaceState(null, "", address);
  });
}

start();
