// The temporal policies of the Python package, evaluated at any moment. The same formulas, the same floor.

const HOUR = 3_600_000;

const RULES = {
  none: () => () => 1,
  half_life: (spec) => (i, now, model) => Math.pow(0.5, age(now, model.agedFrom[i]) / spec.hours),
  ebbinghaus: (spec) => (i, now, model) =>
    Math.exp(-age(now, model.agedFrom[i]) / (spec.stability_hours * (1 + spec.boost_per_access * model.accesses[i]))),
  validity: (spec) => (i, now, model) =>
    model.validFrom[i] <= now && now <= model.validUntil[i] ? 1 : spec.outside_weight,
};

function age(now, t) {
  return Math.max(0, (now - t) / HOUR);
}

// The factors of a policy, products of products unfolded; null if one of them is not built in.
export function factorsOf(spec) {
  const factors = [];
  const pending = [spec];
  while (pending.length) {
    const next = pending.pop();
    if (next && next.type === "product") pending.push(...next.policies);
    else if (next && Object.hasOwn(RULES, next.type)) factors.push(RULES[next.type](next));
    else return null;
  }
  return factors;
}

// Weights of all memories at `now` (milliseconds), each factor and the product held at `floor` or above.
export function weigh(factors, now, model, floor) {
  const weights = new Float64Array(model.count).fill(1);
  for (const factor of factors) {
    for (let i = 0; i < weights.length; i++) weights[i] *= Math.max(floor, Math.min(1, factor(i, now, model)));
  }
  for (let i = 0; i < weights.length; i++) weights[i] = Math.max(floor, weights[i]);
  return weights;
}

export function describePolicy(spec) {
  const parts = [];
  const pending = [spec];
  while (pending.length) {
    const next = pending.shift();
    if (next.type === "product") pending.unshift(...next.policies);
    else parts.push(describeOne(next));
  }
  return parts.join(" × ") || "no decay";
}

function describeOne(spec) {
  if (spec.type === "none") return "no decay";
  if (spec.type === "half_life") return `half-life ${hours(spec.hours)}`;
  if (spec.type === "ebbinghaus") return `Ebbinghaus, stability ${hours(spec.stability_hours)}`;
  if (spec.type === "validity") return "validity windows";
  return `${spec.type} (computed in Python)`;
}

function hours(value) {
  if (value >= 48) return `${Number((value / 24).toPrecision(4))} days`;
  return `${Number(value.toPrecision(4))} h`;
}
