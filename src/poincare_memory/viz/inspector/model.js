// The memories as columns, and the shape of their hierarchy.

const TEXTS = ["id", "text", "parent", "t", "meta", "valid_from", "valid_until"];
const NUMBERS = ["level", "depth", "x", "y", "t_ms", "weight", "accesses", "valid_from_ms", "valid_until_ms"];

export function readModel(data) {
  const columns = data.columns ?? columnsOf(data.nodes);
  const count = columns.id.length;
  const rowOf = new Map(columns.id.map((id, row) => [id, row]));
  const parent = Int32Array.from(columns.parent, (id) => (id === null ? -1 : rowOf.get(id)));
  const model = {
    config: data.config,
    count,
    rowOf,
    parent,
    ids: columns.id,
    texts: columns.text,
    metas: columns.meta,
    times: columns.t,
    validFromTexts: columns.valid_from,
    validUntilTexts: columns.valid_until,
    level: Int32Array.from(columns.level),
    depth: Float64Array.from(columns.depth),
    x: Float64Array.from(columns.x),
    y: Float64Array.from(columns.y),
    t: Float64Array.from(columns.t_ms),
    agedFrom: Float64Array.from(columns.t_ms), // pinned memories never age
    accesses: Float64Array.from(columns.accesses),
    openingWeights: Float64Array.from(columns.weight),
    validFrom: Float64Array.from(columns.valid_from_ms, (ms) => ms ?? -Infinity),
    validUntil: Float64Array.from(columns.valid_until_ms, (ms) => ms ?? Infinity),
  };
  for (const row of data.pinned ?? []) model.agedFrom[row] = Infinity;
  const hits = hitsOf(data.query, rowOf);
  return Object.assign(model, hierarchyOf(parent), {
    maxLevel: largest(model.level, 0),
    pinned: new Set(data.pinned ?? []),
    query: data.query ?? null,
    hits,
    hitOf: new Map(hits.map((hit) => [hit.row, hit])),
    sampled: data.sampled ?? null,
  });
}

// What a query found, best first, each with its row and its rank.
function hitsOf(query, rowOf) {
  const found = (query?.hits ?? []).filter((hit) => rowOf.has(hit.id));
  return found.map((hit, place) => ({ ...hit, row: rowOf.get(hit.id), rank: place + 1 }));
}

function columnsOf(nodes) {
  const columns = {};
  for (const key of [...TEXTS, ...NUMBERS]) columns[key] = nodes.map((node) => node[key]);
  return columns;
}

// Children as one list with offsets, and a depth-first numbering: b lies under a when
// order[a] <= order[b] < order[a] + size[a].
function hierarchyOf(parent) {
  const count = parent.length;
  const childStart = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) if (parent[i] >= 0) childStart[parent[i] + 1]++;
  for (let i = 0; i < count; i++) childStart[i + 1] += childStart[i];
  const children = new Int32Array(childStart[count]);
  const free = childStart.slice();
  const roots = [];
  for (let i = 0; i < count; i++) {
    if (parent[i] >= 0) children[free[parent[i]]++] = i;
    else roots.push(i);
  }
  const order = new Int32Array(count), sequence = new Int32Array(count), size = new Int32Array(count).fill(1);
  const pending = roots.slice().reverse();
  for (let place = 0; pending.length; place++) {
    const row = pending.pop();
    order[row] = place;
    sequence[place] = row;
    for (let c = childStart[row + 1] - 1; c >= childStart[row]; c--) pending.push(children[c]);
  }
  for (let place = count - 1; place >= 0; place--) {
    const row = sequence[place];
    if (parent[row] >= 0) size[parent[row]] += size[row];
  }
  return { childStart, children, roots, order, sequence, size };
}

export function childrenOf(model, row) {
  return model.children.subarray(model.childStart[row], model.childStart[row + 1]);
}

export function ancestorsOf(model, row) {
  const path = [];
  for (let up = model.parent[row]; up >= 0; up = model.parent[up]) path.push(up);
  return path;
}

export function isUnder(model, row, top) {
  const place = model.order[row] - model.order[top];
  return place >= 0 && place < model.size[top];
}

export function largest(values, start) {
  let best = start;
  for (let i = 0; i < values.length; i++) if (values[i] > best) best = values[i];
  return best;
}

export function smallest(values, start) {
  let best = start;
  for (let i = 0; i < values.length; i++) if (values[i] < best) best = values[i];
  return best;
}

export function wordsOf(typed) {
  return typed.toLowerCase().split(/\s+/).filter(Boolean);
}

// Marks the memories whose text, id or metadata hold every word; null when there is nothing to look for.
export function matching(model, typed) {
  const words = wordsOf(typed);
  if (!words.length) return null;
  model.searchable ??= model.texts.map((text, i) => searchableText(text, model.ids[i], model.metas[i]));
  const marks = new Uint8Array(model.count);
  for (let i = 0; i < marks.length; i++) {
    const text = model.searchable[i];
    marks[i] = words.every((word) => text.includes(word)) ? 1 : 0;
  }
  return marks;
}

function searchableText(text, id, meta) {
  const extra = Object.keys(meta).length ? `\n${JSON.stringify(meta)}` : "";
  return `${text}\n${id}${extra}`.toLowerCase();
}
