// Starts the page: reads the data block and connects the views with the controls.

import { Details } from "./details.js";
import { Disk } from "./disk.js";
import { formatCount, plural } from "./format.js";
import { matching, readModel } from "./model.js";
import { isDark } from "./palette.js";
import { describePolicy } from "./policies.js";
import { State } from "./state.js";
import { Table } from "./table.js";
import { Timeline } from "./timeline.js";
import { Tree } from "./tree.js";

const LABELS_AT_FIRST = 80;

const find = (id) => document.getElementById(id);

function start() {
  const text = find("data").textContent;
  const model = readModel(JSON.parse(text));
  const state = new State(model);
  describe(model);
  const disk = new Disk(find("stage"), state);
  const views = { disk, table: new Table(find("table"), state), tree: new Tree(find("tree"), state) };
  connectTabs(views);
  new Details(find("details"), state, (row) => {
    showTab("disk", views);
    disk.centre(row);
  });
  new Timeline(find("time"), find("moment"), find("now"), state, Number(document.body.dataset.minWeight));
  connectFilter(state, model);
  connectButtons(state, disk, text);
  connectLink(state, model);
}

function describe(model) {
  const { config, count } = model;
  const facts = [
    plural(count, "memory", "memories"),
    `${config.dim} dimensions`,
    `curvature ${config.curvature}`,
    describePolicy(config.decay),
    `${config.layout} layout`,
  ];
  find("facts").textContent = facts.join("  ·  ");
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

function connectFilter(state, model) {
  const box = find("filter");
  let waiting = 0;
  const apply = () => {
    state.filter(matching(model, box.value));
    find("matches").textContent = state.marks ? `${formatCount(state.matches)} of ${formatCount(model.count)}` : "";
  };
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, model.count > 5000 ? 150 : 0);
  });
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
  find("reset").addEventListener("click", () => disk.reset());
  find("download").addEventListener("click", () => download(text));
  find("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    state.tell("theme");
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.tell("theme"));
}

function download(text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "memory.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
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
