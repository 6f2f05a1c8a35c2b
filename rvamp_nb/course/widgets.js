// The explorer of p̄₁ and p̄₂, with no kernel: messages come from Python, densities are computed here as controls move.
// The first half is mathematics, which node tests against Python; the second half draws.

// erfc by a series of positive terms near zero and a continued fraction beyond: full double precision.
export function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  if (x < 3) {
    let term = x, sum = x;
    for (let n = 1; n < 120 && term > 1e-17 * sum; n++) { term *= 2 * x * x / (2 * n + 1); sum += term; }
    return 1 - 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
  }
  return Math.exp(-x * x) * scaledTail(x);
}
function scaledTail(x) { // exp(x²) erfc(x) from 3 on
  let tail = x;
  for (let n = x < 5 ? 120 : 40; n > 0; n--) tail = x + n / 2 / tail;
  return 1 / Math.sqrt(Math.PI) / tail;
}
export const Phi = (x) => erfc(-x / Math.SQRT2) / 2;
export const phi = (x) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);

// A message is {Q_hat, h, chi_hat, t, k, weights, positive, beta}: the law of the field, and of each penalty that may be drawn
// the terms t |x| + k x²/2 and its probability. beta is null where it is infinite: then p̄₁ has an atom.
const average = (m, f) => m.weights.reduce((sum, weight, c) => sum + weight * f(m.t[c], m.Q_hat + m.k[c]), 0);
const z = (m, t, Q, x) => (m.positive && x < 0 ? -Infinity : (Q * x + (x < 0 ? -t : t) - m.h) / Math.sqrt(m.chi_hat));
export const shifted = (m, deviations) => ({ ...m, h: m.h + deviations * Math.sqrt(m.chi_hat) });

export const cdf = (m, x) => average(m, (t, Q) => Phi(z(m, t, Q, x)));
export const pdf = (m, x) => (m.beta ? temperedPdf(m, x) : average(m, (t, Q) => Q / Math.sqrt(m.chi_hat) * phi(z(m, t, Q, x))));
export const atom = (m) => (m.beta ? 0 : average(m, (t) => {
  const s = Math.sqrt(m.chi_hat), size = Math.abs(m.h);
  if (m.positive) return Phi((t - m.h) / s);
  return t === 0 ? 0 : Phi((t - size) / s) - Phi((-t - size) / s);
}));
// Mean and variance across resamples from the ramp (a + xi)_+, and the mean variance within one (at infinite beta 0).
export function moments(m) {
  if (m.beta) return temperedMoments(m);
  const s = Math.sqrt(m.chi_hat), down = m.positive ? 0 : 1;
  const first = (a) => a * Phi(a) + phi(a), second = (a) => (a * a + 1) * Phi(a) + a * phi(a);
  const mean = average(m, (t, Q) => s / Q * (first((m.h - t) / s) - down * first((-m.h - t) / s)));
  const square = average(m, (t, Q) => m.chi_hat / Q ** 2 * (second((m.h - t) / s) + down * second((-m.h - t) / s)));
  return { mean, across: Math.max(square - mean * mean, 0), within: 0, variance: Math.max(square - mean * mean, 0) };
}
// Smallest x with cdf(x) >= q, by halving; exactly 0 on the atom. At finite beta the table of the density is added up.
export function quantile(m, q, halvings = 60) {
  if (m.beta) return temperedQuantile(m, q);
  const below = cdf(m, 0) - atom(m);
  if (below < q && q <= cdf(m, 0)) return 0;
  const widest = Math.max(...m.t) + Math.abs(m.h) + 40 * Math.sqrt(m.chi_hat);
  let [low, high] = q <= below ? [-widest / m.Q_hat, 0] : [0, widest / m.Q_hat];
  for (let n = 0; n < halvings; n++) {
    const middle = (low + high) / 2;
    if (cdf(m, middle) >= q) high = middle; else low = middle;
  }
  return high;
}

// --- finite beta: the posterior of each resample, averaged over the field --------------------------------------------------------
// log of the integral, and mean, of exp(a z - z²/2) on z > 0.
function halfLine(a) {
  if (a > 20) return [a * a / 2 + Math.log(2 * Math.PI) / 2, a + phi(a)];
  const x = -a / Math.SQRT2, scaled = x < 3 ? Math.exp(x * x) * erfc(x) : scaledTail(x), log = Math.log(scaled) + Math.log(Math.PI / 2) / 2;
  const b = 1 / (a * a); // far below zero the mean is what is left of a difference
  return [log, a < -50 ? -(1 - 2 * b + 10 * b * b) / a : a + Math.sqrt(2 / Math.PI) / scaled];
}
// log of the normalisation, and mean of the posterior in one field.
export function inField(m, t, Q, field) {
  const scale = 1 / Math.sqrt(m.beta * Q), [logUp, meanUp] = halfLine(m.beta * scale * (field - t));
  if (m.positive) return [logUp + Math.log(scale), scale * meanUp];
  const [logDown, meanDown] = halfLine(m.beta * scale * (-field - t)), up = 1 / (1 + Math.exp(logDown - logUp));
  const top = Math.max(logUp, logDown), log = top + Math.log(Math.exp(logUp - top) + Math.exp(logDown - top));
  return [log + Math.log(scale), scale * (up * meanUp - (1 - up) * meanDown)];
}
const rules = {};
const legendre = (n) => (rules[n] ??= newRule(n));
function newRule(n) { // of Gauss and Legendre, by Newton's method
  const nodes = [], weights = [];
  for (let i = 0; i < n; i++) {
    let x = -Math.cos(Math.PI * (i + 0.75) / (n + 0.5)), slope = 1;
    for (let step = 0; step < 20; step++) {
      let [before, now] = [1, x];
      for (let j = 2; j <= n; j++) [before, now] = [now, ((2 * j - 1) * x * now - (j - 1) * before) / j];
      slope = n * (x * now - before) / (x * x - 1);
      x -= now / slope;
    }
    nodes.push(x);
    weights.push(2 / ((1 - x * x) * slope * slope));
  }
  return [nodes, weights];
}
// Nodes and weights over the noise of the field, denser around the bends of the response (Python's field_nodes).
function fieldNodes(m, t, Q, n) {
  const s = Math.sqrt(m.chi_hat), width = Math.sqrt(Q / m.beta), bends = m.positive ? [t] : [t, -t];
  const edges = [-7.5, -3, 0, 3, 7.5];
  for (const place of bends) for (const side of [-6, 0, 6]) edges.push(Math.min(Math.max((place + side * width - m.h) / s, -7.5), 7.5));
  edges.sort((a, b) => a - b);
  const xi = [], w = [], [nodes, weights] = legendre(n);
  for (let e = 1; e < edges.length; e++) {
    const middle = (edges[e] + edges[e - 1]) / 2, half = (edges[e] - edges[e - 1]) / 2;
    if (half > 0) nodes.forEach((x, k) => { xi.push(middle + half * x); w.push(half * weights[k] * phi(middle + half * x)); });
  }
  const total = w.reduce((a, b) => a + b), mean = xi.reduce((sum, x, k) => sum + w[k] * x, 0) / total;
  const sd = Math.sqrt(xi.reduce((sum, x, k) => sum + w[k] * (x - mean) ** 2, 0) / total);
  return xi.map((x, k) => [(x - mean) / sd, w[k] / total]);
}
// Every posterior that is averaged: {weight, t, Q, field, xi, log, mean}. Kept for a message: a density asks 400 times.
const known = new WeakMap();
function posteriors(m, n = 8) {
  if (!known.has(m)) known.set(m, {});
  return (known.get(m)[n] ??= m.weights.flatMap((share, c) => {
    const t = m.t[c], Q = m.Q_hat + m.k[c];
    return fieldNodes(m, t, Q, n).map(([xi, w]) => {
      const field = m.h + Math.sqrt(m.chi_hat) * xi, [log, mean] = inField(m, t, Q, field);
      return { weight: share * w, t, Q, field, xi, log, mean };
    });
  }));
}
// A density needs more nodes than moments do: each posterior is narrow, and must not show by itself (Python's P1Posterior.pdf).
function temperedPdf(m, x) {
  if (m.positive && x < 0) return 0;
  const narrow = Math.sqrt(m.Q_hat / m.beta / m.chi_hat), n = Math.round(Math.min(Math.max(15 / narrow, 8), 256));
  let sum = 0;
  for (const p of posteriors(m, n)) {
    const log = m.beta * (p.field * x - p.Q * x * x / 2 - p.t * Math.abs(x)) - p.log;
    if (log > -40) sum += p.weight * Math.exp(log);
  }
  return sum;
}
function temperedMoments(m) {
  const all = posteriors(m), mean = all.reduce((sum, p) => sum + p.weight * p.mean, 0);
  const across = all.reduce((sum, p) => sum + p.weight * (p.mean - mean) ** 2, 0);
  const within = all.reduce((sum, p) => sum + p.weight * p.mean * p.xi, 0) / Math.sqrt(m.chi_hat) / m.beta; // Stein: E[xi g] = E[g']
  return { mean, across, within, variance: across + within };
}
function temperedQuantile(m, q) {
  const { mean, variance } = moments(m), sd = Math.sqrt(variance), cells = 400, step = 16 * sd / cells;
  let below = 0;
  for (let c = 0; c < cells; c++) {
    const x = mean - 8 * sd + (c + 0.5) * step, mass = pdf(m, x) * step;
    if (below + mass >= q) return x + ((q - below) / mass - 0.5) * step;
    below += mass;
  }
  return mean + 8 * sd;
}

// --- refits: a byte each -----------------------------------------------------------------------------------------------------------
// 0 is a coefficient that is exactly 0; else a byte c stands for a size in ((|c| - 1) unit, |c| unit], so that no cell mixes signs.
export const sizeOf = (code, unit) => (code - 0.5 * Math.sign(code)) * unit;
export function counted(codes) { // how many refits have each byte, -127 to 127
  const counts = new Array(255).fill(0);
  for (const code of codes) counts[code + 127]++;
  return counts;
}
export function summary(counts, unit) {
  const n = counts.reduce((a, b) => a + b, 0), total = (f) => counts.reduce((sum, count, k) => sum + count * f(sizeOf(k - 127, unit)), 0) / n;
  const mean = total((x) => x), variance = total((x) => (x - mean) ** 2), at = (q) => {
    let seen = 0;
    return sizeOf(counts.findIndex((count) => (seen += count) >= q * n - 1e-9) - 127, unit);
  };
  return { n, Pi: 1 - counts[127] / n, mean, sd: Math.sqrt(variance), low: at(0.05), high: at(0.95) };
}
// The largest distance between two distribution functions, looked at where a byte's cell ends: there what the bytes say is exact.
const stairs = (counts) => {
  const n = counts.reduce((a, b) => a + b, 0);
  let sum = 0;
  return counts.map((count) => (sum += count) / n);
};
const farthest = (a, b) => {
  let most = 0;
  for (let k = 0; k < a.length; k++) most = Math.max(most, Math.abs(a[k] - b[k]));
  return most;
};
export const apart = (counts, others) => farthest(stairs(counts), stairs(others));
export function apartFrom(F, jump, counts, unit) { // F with a jump at zero
  const below = (c) => (c > 0 ? F(c * unit) : c === 0 ? F(0) : c === -1 ? F(0) - jump : F((c + 1) * unit));
  return farthest(stairs(counts), counts.map((_, k) => below(k - 127)));
}
// How many refits are as far from all of them as p̄₁ is: the distance of n falls as one over the root of n, as 40 lots measure it.
export function equivalent(m, codes, unit) {
  const all = counted(codes), B = codes.length, lot = Math.floor(B / 40), whole = stairs(all);
  let mean = 0;
  for (let k = 0; k < 40; k++) mean += farthest(stairs(counted(codes.subarray(k * lot, (k + 1) * lot))), whole) / 40;
  const slope = mean / Math.sqrt(1 / lot - 1 / B), distance = apartFrom((x) => cdf(m, x), atom(m), all, unit), left = (distance / slope) ** 2 - 1 / B;
  return { distance, n: left > 1 / B ? 1 / left : Infinity };
}

// --- what Python packs ---------------------------------------------------------------------------------------------------------------
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
export const floats = (text) => new Float64Array(bytes(text).buffer);
// Everything by name, from the table: message(place, i), covariance(l), refits(l, i) ...
export function unpack(table) {
  const n = table.names.length, [L, T, D] = [table.lams.length, table.taus.length, table.drawn.length], messages = floats(table.messages);
  const means = floats(table.means), covariances = floats(table.covariances), steps = floats(table.steps), cold = floats(table.tempered ?? "");
  const drawn = table.refits && { unit: floats(table.refits.unit), codes: new Int8Array(bytes(table.refits.codes).buffer), B: table.refits.B };
  const message = (numbers, at, d, i, multiple, beta = table.beta) => {
    const [Q_hat, h, chi_hat] = numbers.subarray(at, at + 3), law = table.penalties[d], of = (part) => part.map((each) => each[i] * multiple);
    return { Q_hat, h, chi_hat, weights: law.weights, t: of(law.t), k: of(law.k), positive: table.positive, beta };
  };
  const upper = (a, b) => (a <= b ? a * n - a * (a - 1) / 2 + b - a : upper(b, a)), triangle = n * (n + 1) / 2;
  const kept = []; // messages at finite temperatures, with their posteriors
  return {
    ...table, n, B: drawn ? drawn.B : 0, usual: { t: table.start[1], d: table.start[2] },
    message: ({ l, t, d }, i) => message(messages, (((l * T + t) * D + d) * n + i) * 3, d, i, table.lams[l]),
    second: (l, a, b) => ({ mean: [means[l * n + a], means[l * n + b]],
      covariance: [[a, a], [a, b], [b, b]].map(([p, q]) => covariances[l * triangle + upper(p, q)]) }),
    step: (k, i) => ({ message: message(steps, (k * n + i) * 5, table.start[2], i, table.lams[table.start[0]]),
      mean: steps[(k * n + i) * 5 + 3], variance: steps[(k * n + i) * 5 + 4] }),
    tempered: (b, i) => (kept[b * n + i] ??= message(cold, (b * n + i) * 3, table.start[2], i, table.lams[table.start[0]], table.betas[b])),
    refits: ({ l, t, d }, i) => {
      const r = drawn && t === table.start[1] && d === table.start[2] ? table.refits.stops.indexOf(l) : -1;
      return r < 0 ? null : { unit: drawn.unit[r * n + i], codes: drawn.codes.subarray((r * n + i) * drawn.B, (r * n + i + 1) * drawn.B) };
    },
  };
}

// ---------------------------------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
function built(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.flat());
  return made;
}
const s = (tag, attributes = {}, ...children) => built(document.createElementNS(SVG, tag), attributes, children);
export const h = (tag, attributes = {}, ...children) => built(document.createElement(tag), attributes, children);
const words = (x, y, text, attributes = {}) => s("text", { x, y, ...attributes }, text);
const line = (x1, y1, x2, y2, attributes = {}) => s("line", { x1, y1, x2, y2, class: "axis", ...attributes });
const path = (points, attributes) => s("path", { d: "M" + points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L"), fill: "none", ...attributes });
const percent = (share) => (share > 0 && share < 0.005 ? "<1 %" : share < 1 && share > 0.995 ? ">99 %" : `${Math.round(100 * share)} %`);
const digits = (x, scale = Math.abs(x)) => {
  if (x === 0) return "0";
  if (scale < 1e-4) return x.toExponential(1).replaceAll("-", "−");
  const places = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.max(scale, 1e-9)))));
  return (Math.abs(x) < 0.5 * 10 ** -places ? 0 : x).toFixed(places).replace("-", "−");
};
const grid = (low, high, n) => Array.from({ length: n + 1 }, (_, k) => low + (high - low) * k / n);
// Steps of 1, 2 or 5 times a power of ten, about so many.
function stepOf(width, about) {
  const raw = width / about, ten = 10 ** Math.floor(Math.log10(raw));
  return ten * [1, 2, 5, 10].find((f) => f * ten >= raw);
}
const rounded = (low, high, about) => {
  if (!(high > low)) high = low + 1; // where nothing varies
  const step = stepOf(high - low, about);
  return [Math.floor(low / step) * step, Math.ceil(high / step) * step];
};
const ticks = (low, high, about) => {
  const step = stepOf(high - low, about), first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, k) => (first + k) * step);
};
const short = (v) => (v === 0 ? "0" : String(Number(v.toPrecision(6)))).replace("-", "−");

const cut = ({ left, top, width, height }, ...drawn) => s("svg", { class: "cut", x: left, y: top, width, height: height + 1, viewBox: `${left} ${top} ${width} ${height + 1}` }, ...drawn);
// A frame with axes: x(v) and y(v) say where a value stands. What is drawn inside and leaves it is cut.
function frame(box, [low, high], [bottom, top], { xName, yName, about = 6, yTicks = 4, above }) {
  const x = (v) => box.left + (v - low) / (high - low) * box.width, y = (v) => box.top + box.height - (v - bottom) / (top - bottom) * box.height;
  const base = box.top + box.height, parts = [line(box.left, base, box.left + box.width, base)];
  for (const v of ticks(low, high, about)) parts.push(line(x(v), base, x(v), base + 4), words(x(v), base + 17, short(v), { "text-anchor": "middle" }));
  parts.push(words(box.left + box.width / 2, base + 35, xName, { "text-anchor": "middle" }));
  if (yName) {
    parts.push(line(box.left, box.top, box.left, base));
    for (const v of ticks(bottom, top, yTicks)) parts.push(line(box.left - 4, y(v), box.left, y(v)), words(box.left - 7, y(v) + 4, short(v), { "text-anchor": "end" }));
    if (above) parts.push(words(2, box.top - 8, yName));
    else parts.push(words(0, 0, yName, { "text-anchor": "middle", transform: `translate(${13} ${box.top + box.height / 2}) rotate(-90)` }));
  }
  return { x, y, base, axes: parts, inside: (...drawn) => cut(box, ...drawn) };
}
// What the lines and marks of a picture are: pairs of a kind and its name.
const SAMPLES = { refits: () => s("rect", { class: "refits", x: 2, y: 1, width: 18, height: 10 }), atom: () => s("rect", { class: "p1-fill", x: 7, y: 0, width: 8, height: 12 }),
  mark: () => line(11, 0, 11, 12, { class: "truth" }), dots: () => s("path", { class: "cloud", d: "M4 4h0M11 8h0M17 3h0" }), "truth-ring": () => s("circle", { class: "truth-ring", cx: 11, cy: 6, r: 5 }), ring1: () => s("circle", { class: "ring1", cx: 11, cy: 6, r: 5 }),
  triangle: () => s("path", { class: "p1-fill", d: "M11 0l6.5 11h-13z" }), diamond: () => s("path", { class: "p2-open", d: "M11 0l6 6l-6 6l-6-6z" }) };
const key = (...items) => items.filter(Boolean).map(([kind, text]) => h("span", {},
  s("svg", { width: 22, height: 12, viewBox: "0 0 22 12", "aria-hidden": "true" }, SAMPLES[kind]?.() ?? line(0, 6, 22, 6, { class: kind })), text));
// How much is exactly zero: bars on an axis of their own, from 0 to 1, for [name, share, kind].
function atoms(box, at, columns, wide) {
  const base = box.top + box.height, up = (share) => base - share * box.height, middle = { "text-anchor": "middle" }, gap = wide * 0.5;
  const parts = [line(at, box.top, at, base), line(at, base, at + 6 + columns.length * (wide + gap), base), words(at + 6 + columns.length * (wide + gap) / 2 - gap / 2, base + 35, "zero in", middle)];
  for (const share of [0, 0.5, 1]) parts.push(line(at - 4, up(share), at, up(share)), words(at - 7, up(share) + 4, percent(share), { "text-anchor": "end" }));
  columns.forEach(([text, share, kind], k) => {
    const from = at + 6 + k * (wide + gap);
    parts.push(s("rect", { class: `${kind}-fill`, x: from, width: wide, y: up(share), height: share * box.height }),
      words(from + wide / 2, up(share) - 5, percent(share), { ...middle, class: `${kind}-text strong halo` }), words(from + wide / 2, base + 17, text, { ...middle, class: `${kind}-text` }));
  });
  return parts;
}
// The histogram of refits that are not zero, as a density whose area is their share: bars of whole cells of a byte.
function bars(refits, count, offset, width) {
  const { codes, unit } = refits, B = codes.length, counts = new Array(255).fill(0), cells = Math.max(1, Math.round(width / unit)), found = [];
  for (let k = 0; k < count; k++) counts[codes[(offset + k) % B] + 127]++;
  for (let start = 1; start <= 127; start += cells) {
    for (const side of [1, -1]) {
      let sum = 0;
      for (let c = start; c < start + cells && c <= 127; c++) sum += counts[127 + side * c];
      const [a, b] = [side * (start - 1) * unit, side * (start - 1 + cells) * unit];
      if (sum) found.push({ low: Math.min(a, b), high: Math.max(a, b), height: sum / count / (cells * unit) });
    }
  }
  return { found, counts };
}
const drawnBars = (found, x, y, floor) => s("path", { class: "refits", d: found.map(({ low, high, height }) => // one path: nodes take time
  `M${x(low).toFixed(1)} ${floor}V${Math.min(y(height), floor).toFixed(1)}H${Math.max(x(high) - 0.4, x(low) + 0.5).toFixed(1)}V${floor}Z`).join("") });
// p̄₁ in two pieces: it jumps at zero.
const curve = (m, [low, high], x, y, n = 320) => [[low, Math.min(-1e-9 * (high - low), high)], [Math.max(low, 0), high]].filter(([a, b]) => b > a)
  .map(([a, b]) => grid(a, b, Math.ceil(n * (b - a) / (high - low)) + 2).map((v) => [v, pdf(m, v)]))
  .map((points) => { const least = 2e-3 * Math.max(...points.map((p) => p[1])); return points.filter((p) => p[1] > least); }).filter((points) => points.length > 1)
  .map((points) => path(points.map(([v, f]) => [x(v), y(f)]), { class: "p1" }));
const gaussian = (mean, sd) => (v) => phi((v - mean) / sd) / sd;
const bell = (second, span, x, y) => path(grid(...span, 400).map((v) => [x(v), y(second(v))]), { class: "p2" });
const reach = (m) => { // where nearly all of it is, zero, and nearly all that is not zero
  if (m.beta) {
    const { mean, variance } = moments(m);
    return [Math.min(mean - 3.2 * Math.sqrt(variance), 0) * !m.positive, Math.max(mean + 3.2 * Math.sqrt(variance), 0)];
  }
  const left = Math.min(0.002, 0.02 * (1 - atom(m))) || 0.002;
  return [Math.min(quantile(m, left, 20), 0), Math.max(quantile(m, 1 - left, 20), 0)];
};
const union = (ranges) => [Math.min(...ranges.map((r) => r[0])), Math.max(...ranges.map((r) => r[1]))];
const tallest = (f, [low, high], n = 160) => Math.max(...grid(low, high, n).map(f));
const isNever = (m) => !m.beta && 1 - atom(m) < 1e-6;
const around = (mean, sd) => [mean - 2.6 * sd, mean + 2.6 * sd];
// What the axes of a coefficient must hold over all penalties, so that nothing jumps as λ moves: ends and height of p̄₁, ends of both,
// height of p̄₂; and the same at the penalty that is shown first. Null for one that is never selected.
function room(data, state, { t, d }, i) {
  const look = (l) => {
    const m = data.message({ l, t, d }, i);
    if (isNever(m)) return null;
    const { mean, variance } = moments(m), ends = reach(m), sd = Math.sqrt(variance);
    return { ends, both: union([ends, around(mean, sd)]), peak: tallest((v) => pdf(m, v), ends, 60), second: 0.4 / sd, often: atom(m) < 0.9 };
  };
  const find = () => {
    const last = data.lams.length - 1, some = data.lams.map((_, l) => (l % 3 === 0 || l === last ? look(l) : null)), home = look(data.start[0]);
    if (t !== data.usual.t || d !== data.usual.d) some.push(room(data, state, data.usual, i));
    const all = [...some, home].filter(Boolean), of = (part) => all.map((each) => each[part]);
    return all.length ? { ends: union(of("ends")), both: union(of("both")), peak: Math.max(...of("peak")), second: Math.max(...of("second")), home } : null;
  };
  const name = `${t},${d},${i}`;
  if (!(name in state.rooms)) state.rooms[name] = find();
  return state.rooms[name];
}
// Where penalties differ too much for one pair of axes, these grow by steps of two, as they must.
const doubled = (size, needed) => size * 2 ** Math.max(0, Math.ceil(Math.log2(needed / size)));
function endsOf(whole, part, own) {
  const wide = ([low, high]) => high - low, most = ([low, high]) => Math.max(-low, high), all = union([own, ...(whole ? [whole[part]] : [])]), home = whole?.home?.[part];
  if (!home || wide(all) <= 3 * wide(home)) return all;
  const times = doubled(most(home), most(own)) / most(home);
  return union([home.map((v) => v * times), own]);
}
function peakOf(whole, part, own) {
  const all = Math.max(own, whole?.[part] ?? 0), home = whole?.home?.[part];
  return !home || all <= 4 * home ? all : doubled(home, own);
}
// p̄₂ of a coefficient that is mostly zero is a needle: then it may leave the picture, and a number says how high it goes.
const heightOf = (first, second) => rounded(0, Math.max(1.12 * first, Math.min(1.08 * second, 1.75 * first)), 12)[1];
const needle = (mean, sd, top, box, x) => (phi(0) / sd <= top ? [] : words(Math.min(Math.max(x(mean), box.left + 70), box.left + box.width - 70), box.top + 13, `p̄₂ goes up to ${short(Number((phi(0) / sd).toPrecision(2)))}`,
  { "text-anchor": "middle", class: "p2-text halo" }));
const cropped = (name, width) => (name.length * 8 > width ? `${name.slice(0, Math.max(Math.floor(width / 8) - 1, 1))}…` : name);
const place = (state) => ({ l: state.l, t: state.t, d: state.d });
// One run of rVAMP counted in refits: kept, as it takes some milliseconds.
function inRefits(data, state, i) {
  const at = place(state), { codes, unit } = data.refits(at, i);
  return (state.worth[`${at.l},${i}`] ??= equivalent(data.message(at, i), codes, unit));
}
const refitsOf = (n) => (n === 1 ? "1 refit" : `${n.toLocaleString("en")} refits`);
const asCount = (n, B) => (n >= B / 2 ? `${(B / 2).toLocaleString("en")} or more` : `about ${Number(n.toPrecision(n < 100 ? 1 : 2)).toLocaleString("en")}`);
const countable = (data, state) => data.B >= 400 && !data.beta && data.refits(place(state), 0);
const enough = (data, state, i) => data.refits(place(state), i).codes.reduce((sum, code) => sum + (code !== 0), 0) >= 40; // are not zero
const NOT_HERE = ["", "How many refits one run is as good as is measured where refits were made: at the marks under λ."];
const setting = (data, { l, t, d }) => [`λ = ${[data.lamNames[l]].flat()[0]}`, data.taus.length > 1 && `resample size ${data.taus[t]}`, data.drawn.length > 1 && (data.drawn[d] ? "λ or 2λ drawn" : "λ not drawn")].filter(Boolean);
const NAMES = "p̄₁ comes from the prior’s side: one coefficient by itself, with exact zeros. p̄₂ comes from the data’s side: a Gaussian that knows how coefficients move together. rVAMP makes their means and variances agree.";
const table = (heads, rows) => h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)))),
  h("tbody", {}, ...rows.map(([kind, name, ...cells]) => h("tr", {}, h("th", { scope: "row", class: `${kind}-text` }, name), ...cells.map((cell) => h("td", {}, cell ?? "–"))))));

// --- the panels: each returns {picture, key, says, count, table, hint} ---------------------------------------------------------------
function ridgeline(data, state, width, act) {
  const narrow = width < 560, row = narrow ? 40 : 46, head = narrow ? 70 : 76, foot = 44;
  const left = Math.min(Math.max(...data.names.map((name) => name.length)) * 8 + 16, narrow ? 86 : 130), bar = narrow ? 38 : 130, number = narrow ? 51 : 64;
  const right = bar + 2 * number + (narrow ? 14 : 34), all = data.names.map((_, i) => ({ i, m: data.message(place(state), i), refits: data.refits(place(state), i), room: room(data, state, place(state), i) }));
  // Columns in units of their kind have coefficients of any size: then each row has a scale, and heights are divided by it, too.
  for (const each of all) {
    const never = isNever(each.m);
    each.ends = endsOf(each.room, "ends", never ? [0, 0] : reach(each.m));
    each.peak = peakOf(each.room, "peak", never ? 0 : tallest((v) => pdf(each.m, v), reach(each.m), 60));
    each.size = Math.max(-each.ends[0], each.ends[1]) || 1;
  }
  const usual = all.filter(({ room }) => room?.home?.often), sizes = usual.map(({ room }) => Math.max(-room.home.ends[0], room.home.ends[1])), shared = !(Math.max(...sizes) > 12 * Math.min(...sizes));
  if (shared) for (const each of all) each.size = 1;
  const [low, high] = rounded(...union(all.map(({ ends: [a, b], size }) => [a / size, b / size])), 14), inner = width - left - right - 8;
  const x = (v) => left + (v - low) / (high - low) * inner, cell = (high - low) / 42, total = head + row * data.n + foot;
  for (const each of all) if (each.refits) Object.assign(each, bars(each.refits, state.n, state.offset, cell * each.size));
  const peaks = (usual.length ? usual : all).map(({ peak, size }) => peak * size).sort((a, b) => b - a), top = Math.min(peaks[0], 2 * peaks[Math.floor(peaks.length / 2)] || peaks[0]) || 1;
  const picture = s("svg", { width, height: total, viewBox: `0 0 ${width} ${total}`, role: "group", "aria-label": "One row for each coefficient: refits, p̄₁ and its atom" });
  const barAt = left + inner + 16, refitsAt = barAt + bar + number / 2 + (narrow ? 4 : 10), ourAt = refitsAt + number, middle = { "text-anchor": "middle" };
  picture.append(words(left, 16, inner < 340 ? "where not zero" : "coefficient, in the resamples where it is not zero", { class: "strong" }),
    words(barAt, 16, narrow ? "zero" : "zero in", { class: "strong" }), words((refitsAt + ourAt) / 2, 16, narrow ? "selected, Π" : "selected in (Π)", { ...middle, class: "strong" }),
    words(refitsAt, 34, "refits", middle), words(ourAt, 34, "p̄₁", { ...middle, class: "p1-text strong" }));
  if (!narrow) for (const [share, name, anchor] of [[0, "0", "start"], [0.5, "50", "middle"], [1, "100 %", "end"]]) picture.append(words(barAt + share * bar, 34, name, { "text-anchor": anchor }));
  for (const v of ticks(low, high, narrow ? 3 : 7)) picture.append(line(x(v), head - 8, x(v), total - foot, { class: v === 0 ? "zero" : "guide" }), shared || v === 0 ? words(x(v), total - foot + 18, short(v), middle) : "");
  picture.append(words(x((low + high) / 2), total - 8, shared ? "coefficient" : "coefficient, each on a scale of its size", middle));
  for (const { i, m, refits, found, counts, size } of all) {
    const base = head + row * (i + 1) - 8, at = (v) => x(v / size), y = (v) => base - v * size / top * row * 1.7, Pi = 1 - atom(m), share = refits && state.n ? 1 - counts[127] / state.n : null;
    const says = `${data.names[i]}: zero in ${percent(1 - Pi)} of resamples by p̄₁${share === null ? "" : `, in ${percent(1 - share)} of ${state.n} refits`}. Open this coefficient.`;
    const group = s("g", { class: "row" },
      s("rect", { class: "hit", role: "button", tabindex: 0, "aria-label": says, "data-key": `row${i}`, "data-lm-suppress-shortcuts": "", x: 0, y: base - row + 6, width, height: row - 1, rx: 4 }), words(left - 10, base, cropped(data.names[i], left - 10), { "text-anchor": "end", class: "strong" }),
      line(left, base, left + inner, base, { class: "guide" }), cut({ left, top: base - 1.72 * row, width: inner, height: 1.72 * row }, refits && state.n ? drawnBars(found, at, y, base) : [], isNever(m) ? [] : curve(m, reach(m), at, y, 200)),
      s("rect", { class: "track", x: barAt, y: base - 11, width: bar, height: 11 }), s("rect", { class: "p1-fill", x: barAt, y: base - 11, width: bar * (1 - Pi), height: 11 }),
      share === null ? [] : line(barAt + bar * (1 - share), base - 15, barAt + bar * (1 - share), base + 4, { class: "truth" }),
      words(refitsAt, base, share === null ? "–" : percent(share), middle), words(ourAt, base, percent(Pi), { ...middle, class: "p1-text strong" }));
    const open = () => act({ panel: "one", i });
    group.addEventListener("click", open);
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); }
    });
    picture.append(group);
  }
  const name = data.names[state.i], first = atom(all[state.i].m), shown = all[0].refits ? `${state.n ? state.n.toLocaleString("en") : "no"} ${state.n === 1 ? "refit is" : "refits are"} drawn` : "no refits were made at this setting, so the curves stand alone";
  let count = null;
  if (countable(data, state)) {
    const sorted = all.filter(({ i }) => enough(data, state, i)).map(({ i }) => inRefits(data, state, i).n).sort((a, b) => a - b), B = data.B;
    count = [`One run of rVAMP is as good as ${asCount(sorted[Math.floor((sorted.length - 1) / 2)], B)} refits here`, `, for the middle one of these coefficients (${asCount(sorted[0], B)} for the worst): that many are, on average, as far from all ${B.toLocaleString("en")} as the curve is.${data.seconds ? ` The run took ${data.seconds.run} s, the ${B.toLocaleString("en")} refits ${data.seconds.refits} s.` : ""}`];
  } else if (data.B >= 400 && !data.beta) count = NOT_HERE;
  return { picture, count, says: data.beta ? "At a finite β no coefficient is exactly zero." : `${name} is exactly zero in ${percent(first)} of resamples: that is its atom. The area under its curve is the other ${percent(1 - first)}${data.B ? `; ${shown}` : ""}.`,
    key: key(data.B && ["refits", "refits that are not zero"], ["p1", "p̄₁, from one run of rVAMP"], ["atom", "its atom: how often it is exactly zero"], data.B && ["mark", "the same in the refits"]),
    hint: `${data.about ? `${data.about} ` : ""}Press a row to open its coefficient.` };
}

function one(data, state, width) {
  const m = shifted(data.message(place(state), state.i), state.shift), { mean, variance } = moments(m), sd = Math.sqrt(variance), second = gaussian(mean, sd);
  const narrow = width < 560, height = narrow ? 300 : 340, wide = narrow ? 25 : 34, most = data.B ? 2 : 1, side = 34 + 1.5 * most * wide, box = { top: narrow ? 28 : 20, height: height - (narrow ? 76 : 68) };
  const whole = room(data, state, place(state), state.i), never = isNever(m), refits = data.refits(place(state), state.i), shown = refits && state.n, f = (v) => pdf(m, v);
  const own = never ? [0, 0] : union([reach(m), around(mean, sd)]), span = whole || !never ? rounded(...endsOf(whole, "both", own), 10) : [-1, 1];
  const top = whole || !never ? heightOf(peakOf(whole, "peak", never ? 0 : tallest(f, reach(m))), Math.max(whole?.home?.second ?? 0, never ? 0 : 0.4 / sd)) : 1;
  box.left = (narrow ? 12 : 30) + 7.4 * Math.max(...ticks(0, top, 4).map((v) => short(v).length));
  box.width = width - box.left - side - (narrow ? 26 : 50);
  const { found, counts } = shown ? bars(refits, state.n, state.offset, (span[1] - span[0]) / 44) : { found: [] };
  const { x, y, base, axes, inside } = frame(box, span, [0, top], { xName: `coefficient of ${data.names[state.i]}`, yName: "density across resamples", about: narrow ? 4 : 8, above: narrow });
  const name = data.names[state.i], Pi = 1 - atom(m), numbers = shown && summary(counts, refits.unit), middle = { "text-anchor": "middle" };
  const picture = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${name}: p̄₁ with an atom of ${percent(1 - Pi)}, p̄₂, a Gaussian of mean ${digits(mean, sd)} and standard deviation ${digits(sd)}${shown ? `, and ${state.n} refits` : ""}` });
  picture.append(inside(drawnBars(found, x, y, base), line(x(0), box.top, x(0), base, { class: "zero" }), ...(never ? [] : [...curve(m, union([reach(m), [0, 0]]), x, y), bell(second, span, x, y), needle(mean, sd, top, box, x)].flat())), ...axes);
  if (!data.beta && Pi < 0.005) picture.append(words(box.left + box.width / 2, box.top + box.height * 0.45, narrow ? "nearly always zero" : never ? "zero in every resample: only the atom is left" : "zero in more than 99 % of resamples", { ...middle, class: "p1-text strong halo" }));
  picture.append(...atoms(box, box.left + box.width + side - 1.5 * most * wide + (narrow ? 20 : 40), [["p̄₁", 1 - Pi, "p1"], ...(shown ? [["refits", 1 - numbers.Pi, "truth"]] : [])], wide));
  if (state.fallen.length && refits) picture.append(...state.fallen.map((code, k) => s("circle", { class: "fall", r: 3, style: `animation-delay:${Math.min(k * 9, 500)}ms; --down:${base - box.top}px`,
    cx: code ? Math.min(Math.max(x(sizeOf(code, refits.unit)), box.left), box.left + box.width) : x(0), cy: box.top })));
  // what the refits are compared with, while they stand where the density does
  const compared = countable(data, state) && state.shift === 0, all = compared && counted(refits.codes), B = data.B.toLocaleString("en"), count = compared && inRefits(data, state, state.i), part = compared && shown && state.n < data.B && apart(counts, all);
  const far = (v) => v.toFixed(3), size = Math.max(sd, (span[1] - span[0]) / 500), ends = (low, high) => `${digits(low, 10 * size)} to ${digits(high, 10 * size)}`;
  const row = (kind, text, share, mu, deviation, low, high, distance) => [kind, text, share, digits(mu, size), digits(deviation, Math.max(deviation, size / 10)), ends(low, high), ...(data.B >= 400 ? [distance || "–"] : [])];
  const rows = [row("p1", "p̄₁", percent(Pi), mean, sd, quantile(m, 0.05), quantile(m, 0.95), compared && far(count.distance)),
    row("p2", "p̄₂", "100 %", mean, sd, mean - 1.6449 * sd, mean + 1.6449 * sd, compared && far(apartFrom((v) => Phi((v - mean) / sd), 0, all, refits.unit)))];
  if (shown) {
    const jitter = state.n >= 10 && state.n < 1000 ? ` ± ${Math.round(100 * Math.sqrt(numbers.Pi * (1 - numbers.Pi) / state.n))}` : "";
    rows.push(row("truth", refitsOf(state.n), percent(numbers.Pi) + jitter, numbers.mean, numbers.sd, numbers.low, numbers.high, compared && (part === false ? "0" : far(part))));
    if (state.n === 1) rows[2].splice(4, 2, "–", "–");
  } else if (data.B) rows.push(["truth", "refits", ...Array(data.B >= 400 ? 5 : 4)]);
  const stay = refits && state.shift !== 0 ? " The refits stay where they are: the question is what p̄₁ would be." : data.B && !refits ? " No refits were made at this setting, so the curves stand alone." : "";
  const found1 = `p̄₁ is ${compared && far(count.distance)} off all ${B} refits (the largest distance between the two distribution functions), as far as ${compared && asCount(count.n, data.B)} refits are on average.${part ? ` The ${refitsOf(state.n)} drawn ${state.n === 1 ? "is" : "are"} ${far(part)} off.` : ""}`;
  return { picture, hint: NAMES, table: table(["", "not zero", "mean", "sd", "90 % lie in", ...(data.B >= 400 ? [narrow ? "off all" : `off all ${B}`] : [])], rows),
    says: data.beta ? "At a finite β no coefficient is exactly zero." : `${name} is exactly zero in ${percent(1 - Pi)} of resamples: that is its atom. The area under p̄₁ is the other ${percent(Pi)}.${stay}`,
    count: !compared ? (data.B >= 400 && !data.beta && state.shift === 0 ? NOT_HERE : null) : !enough(data, state, state.i) ? ["", `p̄₁ is ${far(count.distance)} off all ${B} refits. Nearly all of them are zero: too few are left to count how many refits one run is as good as.`]
      : [`One run of rVAMP is as good as ${asCount(count.n, data.B)} refits here.`, ` ${found1}`],
    key: key(data.B && ["refits", "refits that are not zero"], ["p1", "p̄₁"], ["p2", "p̄₂, a Gaussian"], ["atom", "p̄₁’s atom: how often it is exactly zero"]) };
}

// Lines of equal height of a table on a grid, by looking at each cell's corners.
function contour(values, nx, ny, level, at) {
  let d = "";
  for (let a = 0; a < nx - 1; a++) {
    for (let b = 0; b < ny - 1; b++) {
      const corners = [[a, b], [a + 1, b], [a + 1, b + 1], [a, b + 1]], cut = [];
      corners.forEach(([p, q], k) => {
        const [r, t] = corners[(k + 1) % 4], [u, v] = [values[p * ny + q], values[r * ny + t]];
        if (u > level !== v > level) { const part = (level - u) / (v - u); cut.push(at(p + part * (r - p), q + part * (t - q))); }
      });
      for (let k = 0; k + 1 < cut.length; k += 2) d += `M${cut[k].map((v) => v.toFixed(1))}L${cut[k + 1].map((v) => v.toFixed(1))}`;
    }
  }
  return d;
}
const correlation = ([[aa], [ab], [bb]]) => ab / Math.sqrt(aa * bb);
const relation = (a, b) => { // of two columns of numbers
  const n = a.length, [ma, mb] = [a, b].map((v) => v.reduce((x, y) => x + y, 0) / n);
  let [aa, ab, bb] = [0, 0, 0];
  for (let k = 0; k < n; k++) { aa += (a[k] - ma) ** 2; ab += (a[k] - ma) * (b[k] - mb); bb += (b[k] - mb) ** 2; }
  return ab / Math.sqrt(aa * bb);
};
const signed = (r) => (Number.isFinite(r) ? `${r < -0.005 ? "−" : r > 0.005 ? "+" : ""}${Math.abs(r).toFixed(2)}` : "–");

function pair(data, state, width, act) {
  const here = { l: state.l, ...data.usual }, [a, b] = state.pair, ms = [a, b].map((i) => data.message(here, i)), { mean, covariance } = data.second(state.l, a, b);
  const [aa, ab, bb] = covariance, sds = [Math.sqrt(aa), Math.sqrt(bb)], refits = [a, b].map((i) => data.refits(here, i)), shown = refits[0] && state.n > 0;
  const narrow = width < 640, map = narrow ? Math.min(width - 60, 280) : Math.min(250, width * 0.36), size = narrow ? width : width - map - 24, height = narrow ? Math.min(size, 360) : Math.min(size, 420);
  const box = { left: 70, top: 12, width: size - 84, height: height - 62 };
  const values = shown ? refits.map(({ codes, unit }) => Float64Array.from({ length: state.n }, (_, k) => sizeOf(codes[(state.offset + k) % codes.length], unit))) : [[], []];
  const spans = [a, b].map((i, k) => { const whole = room(data, state, data.usual, i); return whole ? rounded(...endsOf(whole, "both", isNever(ms[k]) ? [0, 0] : union([reach(ms[k]), around(mean[k], sds[k])])), 12) : [-1, 1]; });
  const { x, y, base, axes, inside } = frame(box, spans[0], spans[1], { xName: `coefficient of ${data.names[a]}`, yName: `coefficient of ${data.names[b]}`, about: 5, yTicks: 5 });
  const known = ab / Math.sqrt(aa * bb), seen = shown && state.n > 2 ? relation(...values) : NaN, atoms = ms.map(atom), none = ms.map((m) => !m.beta && 1 - atom(m) < 0.005);
  const picture = s("svg", { width: size, height, viewBox: `0 0 ${size} ${height}`, role: "img",
    "aria-label": `${data.names[a]} and ${data.names[b]}: correlation across resamples ${signed(known)} by p̄₂, 0 by p̄₁${shown ? `, ${signed(seen)} in the refits` : ""}` });
  let cloud = "", bothZero = 0, oneZero = 0;
  if (shown) for (let k = 0; k < state.n; k++) {
    const [u, v] = [values[0][k], values[1][k]], beside = ((k * 0.618) % 1 - 0.5) * 12; // what lies on an arm of the cross would hide there
    if (u === 0 && v === 0) bothZero++;
    else cloud += `M${(x(u) + (u === 0 ? beside : 0)).toFixed(1)} ${(y(v) + (v === 0 ? beside : 0)).toFixed(1)}h0`;
    oneZero += (u === 0) !== (v === 0);
  }
  const drawn = [line(x(0), box.top, x(0), base, { class: "cross" }), line(box.left, y(0), box.left + box.width, y(0), { class: "cross" })];
  // p̄₁: where both are not zero its lines of equal height, where one is zero a ribbon along an arm of the cross
  const n = 57, [gx, gy] = spans.map(([low, high]) => grid(low, high, n - 1)), fs = [gx.map((v) => pdf(ms[0], v)), gy.map((v) => pdf(ms[1], v))];
  const both = (1 - atoms[0]) * (1 - atoms[1]), arms = [atoms[1] * (1 - atoms[0]), atoms[0] * (1 - atoms[1])], spot = (p, q) => [x(spans[0][0] + p / (n - 1) * (spans[0][1] - spans[0][0])), y(spans[1][0] + q / (n - 1) * (spans[1][1] - spans[1][0]))];
  if (both > 0.02) {
    const product = fs[0].flatMap((u) => fs[1].map((v) => u * v)), sorted = [...product].sort((u, v) => v - u), sum = sorted.reduce((u, v) => u + v, 0);
    for (const share of [0.5, 0.9]) {
      let some = 0;
      const level = sorted.find((v) => (some += v) >= share * sum);
      drawn.push(s("path", { class: "p1 thin", fill: "none", d: contour(product, n, n, level, spot) }));
    }
  }
  arms.forEach((share, k) => {
    const most = Math.max(...fs[k]), half = fs[k].map((f) => 1 + 13 * Math.sqrt(share) * f / most), zero = k ? x(0) : y(0), along = (p) => (k ? spot(0, p)[1] : spot(p, 0)[0]), some = fs[k].flatMap((f, p) => (f > 0.01 * most ? [p] : []));
    if (data.beta || share < 0.01) return;
    const edge = (side) => some.map((p) => (k ? [zero + side * half[p], along(p)] : [along(p), zero + side * half[p]]));
    drawn.push(path([...edge(-1), ...edge(1).reverse()], { class: "ribbon" }));
  });
  if (!none[0] || !none[1]) for (const k of [1, 2]) { // p̄₂'s ellipses, one and two standard deviations
    const root = ab / sds[0], rest = Math.sqrt(Math.max(bb - root * root, 0));
    drawn.push(path(grid(0, 2 * Math.PI, 90).map((angle) => [x(mean[0] + k * sds[0] * Math.cos(angle)), y(mean[1] + k * (root * Math.cos(angle) + rest * Math.sin(angle)))]), { class: "p2" }));
  }
  const ring = (share, kind) => (share > 0.005 ? s("circle", { class: kind, cx: x(0), cy: y(0), r: 3 + 14 * Math.sqrt(share) }) : []);
  picture.append(inside(...[s("path", { d: cloud, class: "cloud" }), ...drawn, ring(data.beta ? 0 : atoms[0] * atoms[1], "ring1"), ring(bothZero / Math.max(state.n, 1), "truth-ring")].flat()), ...axes);
  const empty = [a, b].filter((_, k) => none[k]).map((i) => data.names[i]), middle = { "text-anchor": "middle" };
  if (empty.length) picture.append(words(box.left + box.width / 2, box.top + 14, `${empty.length > 1 ? "both are" : `${empty[0]} is`} zero in ${narrow ? ">99 %" : "more than 99 % of resamples"}`, { ...middle, class: "p1-text strong halo" }));
  const kinds = [["p1", "p̄₁"], ["p2", "p̄₂"], ...(data.B ? [["truth", shown ? refitsOf(state.n) : "refits"]] : [])], share = (of) => (shown ? percent(of / state.n) : null), [p, q] = atoms;
  const numbers = [["correlation", signed(0), signed(known), shown ? signed(seen) : null], ...(narrow ? [] : [0, 1].map((k) => [`${data.names[[a, b][k]]} zero`, percent(atoms[k]), "never", share(values[k].reduce((sum, each) => sum + (each === 0), 0))])),
    ["both zero", percent(p * q), "never", share(bothZero)], ["exactly one zero", percent(p * (1 - q) + q * (1 - p)), "never", share(oneZero)]];
  const refitted = shown ? ` and ${signed(seen)} in the refits` : "", many = empty.length > 1, [, ...rest] = setting(data, here);
  const says = empty.length ? `${empty.join(" and ")} ${many ? "are" : "is"} hardly ever selected at this penalty: there is no pair to see. At a smaller λ ${many ? "they may come" : "it may come"} in.`
    : `${data.columns ? `The columns ${data.names[a]} and ${data.names[b]} have a correlation of ${signed(data.columns[a][b])}, their coefficients one` : `The coefficients ${data.names[a]} and ${data.names[b]} have a correlation`} of ${signed(known)} by p̄₂${refitted}. p̄₁ takes each by itself, so for p̄₁ it is 0.`;
  const cells = h("figure", { class: "map" }, correlationMap(data, state, map, act), h("figcaption", {}, `Correlations of the coefficients, blue below 0 and orange above: over the diagonal by p̄₂${data.B ? ", under it in all refits, where they were made" : ""}. Press one to see its pair.`));
  return { says, hint: `${NAMES}${rest.length ? ` Here: ${rest.join(", ")}, whatever is chosen elsewhere.` : ""}`, table: table(["", ...numbers.map(([text]) => text)], kinds.map(([kind, text], k) => [kind, text, ...numbers.map((each) => each[k + 1])])),
    picture: narrow ? picture : h("div", { class: "side" }, picture, cells), aside: narrow ? cells : null,
    key: key(data.B && ["dots", "refits"], ["p1", "p̄₁: lines hold half and nine tenths of it where neither is zero; a band where one is"], ["p2", "p̄₂: one and two standard deviations"], !data.beta && ["ring1", "both are zero by p̄₁, the larger the more often"], data.B && ["truth-ring", "the same in the refits"]) };
}
function shade(r) { // blue below, orange above zero
  const strength = Math.min(Math.abs(r) / 0.6, 1);
  return `color-mix(in srgb, var(--${r < 0 ? "p2" : "p1"}) ${Math.round(100 * strength)}%, var(--track))`;
}
function correlationMap(data, state, size, act) {
  const here = { l: state.l, ...data.usual }, left = 62, cell = (size - left) / data.n, key = state.l, whole = data.refits(here, 0);
  if (whole && !state.maps[key]) {
    const all = data.names.map((_, i) => { const { codes, unit } = data.refits(here, i); return Float64Array.from(codes, (c) => sizeOf(c, unit)); });
    state.maps[key] = all.map((u, i) => all.map((v, j) => (j < i ? relation(u, v) : 0)));
  }
  const picture = s("svg", { width: size, height: size + 4, viewBox: `0 0 ${size} ${size + 4}`, role: "group", "aria-label": "Map of correlations; arrow keys move" });
  data.names.forEach((name, i) => {
    picture.append(words(left - 5, left + (i + 0.5) * cell + 4, name, { "text-anchor": "end" }),
      words(0, 0, name, { transform: `translate(${left + (i + 0.5) * cell + 4} ${left - 5}) rotate(-90)` }));
  });
  for (let i = 0; i < data.n; i++) {
    for (let j = 0; j < data.n; j++) {
      const r = i < j ? correlation(data.second(state.l, i, j).covariance.map((v) => [v])) : whole ? state.maps[key][i][j] : NaN;
      const chosen = state.pair[0] === Math.min(i, j) && state.pair[1] === Math.max(i, j), known = i !== j && (i < j || whole);
      const square = s("rect", { x: left + j * cell + 0.5, y: left + i * cell + 0.5, width: cell - 1, height: cell - 1, class: chosen ? "cell chosen" : "cell",
        style: `fill: ${known && Number.isFinite(r) ? shade(r) : "var(--track)"}${i === j ? "; opacity: 0.3" : ""}` });
      if (i !== j) {
        const upperOne = chosen && i < j;
        built(square, { role: "button", "data-key": `cell${i},${j}`, tabindex: upperOne ? 0 : -1, "aria-label": `${data.names[i]} and ${data.names[j]}: ${known ? signed(r) : "no refits here"}`, "aria-pressed": chosen, "data-lm-suppress-shortcuts": "" }, []);
        const go = (to) => act({ pair: to[0] < to[1] ? to : [to[1], to[0]] });
        square.addEventListener("click", () => go([i, j]));
        square.addEventListener("keydown", (event) => {
          const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
          if (!move) return;
          event.preventDefault();
          let [p, q] = [i + move[0], j + move[1]];
          if (p === q) [p, q] = [p + move[0], q + move[1]];
          if (p < 0 || q < 0 || p >= data.n || q >= data.n) return;
          if (p > q) [p, q] = [q, p];
          state.focus = `cell${p},${q}`;
          go([p, q]);
        });
      }
      picture.append(square);
    }
  }
  return picture;
}

function iteration(data, state, width) {
  const i = state.i, all = data.deltas.map((_, k) => { const { message, mean, variance } = data.step(k, i), by = moments(message); return { m: message, one: [by.mean, Math.sqrt(by.variance)], two: [mean, Math.sqrt(variance)] }; });
  const now = all[state.step], end = all[all.length - 1], narrow = width < 640, small = narrow ? (width - 8) / 2 : Math.min(210, width * 0.3), wide = narrow ? width : width - small - 12, height = narrow ? 270 : 380, thick = narrow ? 25 : 30;
  const box = { left: narrow ? 58 : 66, top: narrow ? 28 : 20, width: wide - (narrow ? 58 : 66) - 78 - thick, height: height - (narrow ? 76 : 68) }, second = gaussian(...now.two), refits = data.refits({ l: data.start[0], ...data.usual }, i);
  const never = isNever(end.m), last = union([reach(end.m), around(...end.two)]), far = union(all.slice(1).map((each) => union([reach(each.m), around(...each.two)]))), more = last[1] - last[0];
  // the last step is what matters: of steps that are far from it, a part may be outside
  const span = rounded(Math.max(far[0], last[0] - more), Math.min(far[1], last[1] + more), 10), f = (v) => pdf(end.m, v), top = never ? 1.2 * gaussian(...end.two)(end.two[0]) : heightOf(1.2 * tallest(f, reach(end.m)), 1.1 * gaussian(...end.two)(end.two[0]));
  const { x, y, base, axes, inside } = frame(box, span, [0, top], { xName: `coefficient of ${data.names[i]}`, yName: "density across resamples", about: narrow ? 3 : 5, above: narrow }), middle = { "text-anchor": "middle" };
  const picture = s("svg", { width: wide, height, viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": `Step ${state.step + 1}: p̄₁ has mean ${digits(now.one[0], now.one[1])} and sd ${digits(now.one[1])}, p̄₂ ${digits(now.two[0], now.two[1])} and ${digits(now.two[1])}` });
  const inner = [line(x(0), box.top, x(0), base, { class: "zero" }), ...(isNever(now.m) ? [] : curve(now.m, union([reach(now.m), [0, 0]]), x, y)), bell(second, span, x, y), needle(...now.two, top, box, x)].flat();
  if (refits) inner.unshift(drawnBars(bars(refits, data.B, 0, (span[1] - span[0]) / 44).found, x, y, base));
  picture.append(inside(...inner), ...axes, ...atoms(box, box.left + box.width + 54, [["p̄₁", atom(now.m), "p1"]], thick));
  if (isNever(now.m)) picture.append(words(box.left + box.width / 2, box.top + box.height * 0.4, narrow ? "always zero here" : "at this step zero in every resample", { ...middle, class: "p1-text strong halo" }));
  // two marks that meet
  const tall = narrow ? 230 : 206, meet = s("svg", { width: small, height: tall, viewBox: `0 0 ${small} ${tall}`, role: "img", "aria-label": "Mean and standard deviation of p̄₁ and p̄₂ at every step up to this one" });
  const points = all.flatMap((e) => [e.one, e.two]), ends = (k) => { const v = points.map((p) => p[k]), low = Math.min(...v), high = Math.max(...v), pad = 0.08 * (high - low || 1); return rounded(k ? Math.max(low - pad, 0) : low - pad, high + pad, 8); };
  const plot = { left: 50, top: 24, width: small - 62, height: tall - 68 }, plane = frame(plot, ends(0), ends(1), { xName: "mean", yName: "", about: 3 });
  meet.append(...plane.axes, line(plot.left, plot.top, plot.left, plane.base), words(8, 12, "standard deviation"));
  for (const v of ticks(...ends(1), 4)) meet.append(line(plot.left - 4, plane.y(v), plot.left, plane.y(v)), words(plot.left - 7, plane.y(v) + 4, short(v), { "text-anchor": "end" }));
  for (const [which, kind] of [["one", "p1"], ["two", "p2"]]) {
    meet.append(path(all.slice(0, state.step + 1).map((e) => [plane.x(e[which][0]), plane.y(e[which][1])]), { class: `${kind} trail` }));
    const [px, py] = [plane.x(now[which][0]), plane.y(now[which][1])];
    meet.append(which === "one" ? s("path", { class: "p1-fill", d: `M${px} ${py - 7}l6.5 11h-13z` }) : s("path", { class: "p2-open", d: `M${px} ${py - 8}l8 8l-8 8l-8-8z` }));
  }
  const low = narrow ? 230 : 174, delta = s("svg", { width: small, height: low, viewBox: `0 0 ${small} ${low}`, role: "img", "aria-label": `δ at step ${state.step + 1}: ${data.deltas[state.step].toExponential(1)}` });
  const logs = data.deltas.map((v) => Math.log10(Math.max(v, 1e-12))), range = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))], below = { left: 50, top: 24, width: small - 62, height: low - 68 };
  const curveBox = frame(below, [1, Math.max(all.length, 2)], range, { xName: "step", yName: "", about: 4 });
  delta.append(...curveBox.axes, line(below.left, below.top, below.left, curveBox.base), words(8, 12, narrow ? "δ, of all of them" : "δ, of all coefficients"));
  for (let v = range[0]; v <= range[1]; v += Math.max(1, Math.round((range[1] - range[0]) / 3))) delta.append(line(below.left - 4, curveBox.y(v), below.left, curveBox.y(v)), words(below.left - 7, curveBox.y(v) + 4, v ? `10${[...String(v)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}` : "1", { "text-anchor": "end" }));
  delta.append(path(logs.map((v, k) => [curveBox.x(k + 1), curveBox.y(v)]), { class: "truth thin" }), s("circle", { class: "rvamp-fill", cx: curveBox.x(state.step + 1), cy: curveBox.y(logs[state.step]), r: 5 }));
  const cells = ([mu, deviation]) => [digits(mu, now.two[1]), digits(deviation)];
  const gap = Math.max(Math.abs(now.one[0] - now.two[0]) / now.two[1], Math.abs(now.one[1] / now.two[1] - 1)), met = gap < 5e-4;
  const says = met ? `Step ${state.step + 1}: the two marks have met. p̄₁ and p̄₂ have the same mean and the same standard deviation; only their shapes differ.` : `Step ${state.step + 1}: p̄₁ and p̄₂ have means or standard deviations that differ by ${100 * gap < 1 ? (100 * gap).toFixed(1) : Math.round(100 * gap)} % of p̄₂’s standard deviation.`;
  return { picture: h("div", { class: "side" }, picture, h("div", { class: "stack" }, meet, delta)), says, hint: `${NAMES} These steps: ${setting(data, { l: data.start[0], ...data.usual }).join(", ")}.`,
    table: table([`step ${state.step + 1}`, "mean", "standard deviation", "zero in"], [["p1", "p̄₁", ...cells(now.one), percent(atom(now.m))], ["p2", "p̄₂", ...cells(now.two), "never"]]),
    key: key(refits && ["refits", "refits that are not zero"], ["p1", "p̄₁"], ["p2", "p̄₂"], ["triangle", "mean and standard deviation of p̄₁"], ["diamond", "of p̄₂"], ["truth thin", "δ, how far apart they are"]) };
}

function temperature(data, state, width) {
  const m = data.tempered(state.b, state.i), by = moments(m), finite = Boolean(m.beta), narrow = width < 640, small = narrow ? width : Math.min(230, width * 0.32), wide = narrow ? width : width - small - 12, height = narrow ? 290 : 340, thick = narrow ? 25 : 30;
  const box = { left: narrow ? 58 : 66, top: narrow ? 28 : 20, width: wide - (narrow ? 58 : 66) - 78 - thick, height: height - (narrow ? 76 : 68) }, hottest = data.tempered(0, state.i), cold = data.tempered(data.betas.length - 1, state.i);
  const span = rounded(...union([hottest, cold].map((each) => { const { mean, variance } = moments(each); return around(mean, Math.sqrt(variance)); })), 10), ends = isNever(cold) ? [] : reach(cold), top = rounded(0, 1.6 * Math.max(tallest((v) => pdf(hottest, v), span), ends.length ? tallest((v) => pdf(cold, v), ends) : 0), 12)[1];
  const { x, y, base, axes, inside } = frame(box, span, [0, top], { xName: `coefficient of ${data.names[state.i]}`, yName: "density", about: narrow ? 3 : 5, above: narrow }), beta = finite ? `${data.betaNames[state.b]}` : "∞";
  const picture = s("svg", { width: wide, height, viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": `β = ${beta}: spread within a resample ${digits(Math.sqrt(by.within), Math.sqrt(by.variance))}, across resamples ${digits(Math.sqrt(by.across))}` });
  // the posteriors of three resamples, of one penalty: a low, a middle and a high field
  const t = m.t[0], Q = m.Q_hat + m.k[0], s0 = Math.sqrt(m.chi_hat), three = [-1, 0, 1].map((xi) => m.h + xi * s0).map((field, k) => {
    if (finite) {
      const [log] = inField(m, t, Q, field), f = (v) => (m.positive && v < 0 ? 0 : Math.exp(m.beta * (field * v - Q * v * v / 2 - t * Math.abs(v)) - log));
      return path(grid(...span, 400).map((v) => [x(v), y(f(v))]), { class: `inner inner${k}` });
    }
    const at = m.positive ? Math.max(field - t, 0) / Q : Math.sign(field) * Math.max(Math.abs(field) - t, 0) / Q;
    return line(x(at), box.top, x(at), base, { class: `inner inner${k}` });
  });
  const ours = finite ? [path(grid(...span, 260).map((v) => [x(v), y(pdf(m, v))]), { class: "p1" })] : isNever(m) ? [] : curve(m, span, x, y);
  picture.append(inside(line(x(0), box.top, x(0), base, { class: "zero" }), ...three, ...ours), ...axes, ...atoms(box, box.left + box.width + 54, [["p̄₁", atom(m), "p1"]], thick));
  const spread = data.betas.map((_, b) => { const v = moments(data.tempered(b, state.i)); return [Math.sqrt(v.within), Math.sqrt(v.across)]; }), most = rounded(0, 1.1 * Math.max(...spread.flat()), 8)[1];
  const tall = narrow ? 210 : 250, plot = { left: 56, top: 24, width: small - 74, height: tall - 72 }, right = s("svg", { width: small, height: tall, viewBox: `0 0 ${small} ${tall}`, role: "img", "aria-label": "Spread within and across resamples at every β" });
  const count = data.betas.length - 1, xs = (b) => plot.left + b / count * plot.width, ys = (v) => plot.top + plot.height - v / most * plot.height;
  right.append(line(plot.left, plot.top, plot.left, ys(0)), line(plot.left, ys(0), plot.left + plot.width, ys(0)), words(8, 12, "standard deviation"));
  for (const v of ticks(0, most, 4)) right.append(line(plot.left - 4, ys(v), plot.left, ys(v)), words(plot.left - 7, ys(v) + 4, short(v), { "text-anchor": "end" }));
  data.betas.forEach((_, b) => { if (b % 2 === 0 || b === count) right.append(words(xs(b), ys(0) + 17, data.betaNames[b], { "text-anchor": "middle" })); });
  right.append(words(plot.left + plot.width / 2, ys(0) + 35, "inverse temperature β", { "text-anchor": "middle" }));
  ["accent", "rvamp"].forEach((kind, k) => right.append(path(spread.map((v, b) => [xs(b), ys(v[k])]), { class: kind }), s("circle", { class: `${kind}-fill`, cx: xs(state.b), cy: ys(spread[state.b][k]), r: 5.5 })));
  const says = finite ? `At β = ${beta} a draw from the posterior of a random resample varies by ${digits(Math.sqrt(by.within), Math.sqrt(by.variance))} within a resample and by ${digits(Math.sqrt(by.across))} across resamples; no draw is exactly zero.`
    : `At β = ∞ every posterior is a point, the Lasso's estimate: nothing is left within a resample, ${digits(Math.sqrt(by.across))} across; in ${percent(atom(m))} of resamples the point is zero.`;
  return { picture: h("div", { class: "side" }, picture, right), says, hint: `At β = 1 every resample has Bayes’s posterior, and one draws from it. As β grows the posterior gets narrower, until at β = ∞ it is a point: the Lasso’s estimate. Here: ${setting(data, { l: data.start[0], ...data.usual }).join(", ")}.`,
    table: table(["β", "sd within a resample", "sd across resamples", "together"], [["truth", beta, ...[by.within, by.across, by.variance].map((v) => digits(Math.sqrt(v), Math.sqrt(by.variance)))]]),
    key: key(["p1", "p̄₁, all resamples"], ["inner", "the posteriors of three resamples (points at β = ∞)"], ["accent", "spread within a resample"], ["rvamp", "spread across resamples"]) };
}

const PANELS = { // its name, what draws it, and its controls
  ridgeline: ["All coefficients", ridgeline, ["lam", "law", "draw"]],
  one: ["One coefficient", one, ["coefficient", "lam", "law", "shift", "draw"]],
  pair: ["A pair", pair, ["pairs", "lam", "draw"]],
  iteration: ["The iteration", iteration, ["coefficient", "step"]],
  temperature: ["Temperature", temperature, ["coefficient", "beta"]],
};

const STYLE = `.rvx { --ink: #1A1A1A; --soft: #55595e; --paper: #FFFFFF; --refits: #C8C8C8; --edge: #7A7A7A; --guide: #E4E4E4; --track: #E9E9E9; --p1: #A94800; --p1-text: #A94800; --p2: #3D97D0; --p2-text: #1B6E9E;
  --rvamp: #003C78; --accent: #005D46; --hover: #f3f3f3; --dots: 0.66; color: var(--ink); background: var(--paper); font: 14px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; text-align: left; container-type: inline-size; }
body[data-theme="dark"] .rvx, body[data-jp-theme-light="false"] .rvx { DARK }
@media (prefers-color-scheme: dark) { body:not([data-theme="light"]):not([data-jp-theme-light]) .rvx { DARK } }
.rvx svg { display: block; filter: none !important; font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; overflow: visible; max-width: 100%; }
.rvx text { fill: var(--ink); } .rvx .strong { font-weight: 600; } .rvx .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.rvx .axis { stroke: var(--ink); stroke-width: 1; } .rvx .guide { stroke: var(--guide); stroke-width: 1; } .rvx .zero { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; }
.rvx .refits { fill: var(--refits); stroke: var(--edge); stroke-width: 0.8; } .rvx .track { fill: var(--track); }
.rvx .p1 { stroke: var(--p1); stroke-width: 2.4; } .rvx .p2 { stroke: var(--p2); stroke-width: 2.4; stroke-dasharray: 9 3 2 3; } .rvx .thin { stroke-width: 1.8; } .rvx .trail { stroke-width: 1.2; stroke-dasharray: none; opacity: 0.8; } .rvx .atom { stroke-width: 6; }
.rvx .truth { stroke: var(--ink); stroke-width: 2.4; } .rvx .rvamp { stroke: var(--rvamp); stroke-width: 2.4; } .rvx .accent { stroke: var(--accent); stroke-width: 2.4; stroke-dasharray: 6 3; }
.rvx .inner { fill: none; stroke: var(--accent); stroke-width: 1.4; } .rvx .inner0 { stroke-dasharray: 2 3; } .rvx .inner2 { stroke-dasharray: 7 3; }
.rvx .p1-fill { fill: var(--p1); } .rvx .truth-fill { fill: var(--soft); } .rvx .rvamp-fill { fill: var(--rvamp); } .rvx .accent-fill { fill: var(--accent); } .rvx .p2-open { fill: none; stroke: var(--p2); stroke-width: 2.6; }
.rvx :is(.p1-text) { fill: var(--p1-text); color: var(--p1-text); } .rvx .p2-text { fill: var(--p2-text); color: var(--p2-text); } .rvx .muted-text { fill: var(--soft); } .rvx .accent-text { fill: var(--accent); } .rvx .rvamp-text { fill: var(--rvamp); }
.rvx .cloud { stroke: var(--soft); stroke-width: 3.4; stroke-linecap: round; opacity: var(--dots); fill: none; } .rvx .cross { stroke: var(--p1); stroke-width: 1.4; stroke-dasharray: 1 3; } .rvx .truth-ring { fill: none; stroke: var(--ink); stroke-width: 1.6; }
.rvx .hit { fill: transparent; cursor: pointer; outline: none; } .rvx .row > :not(.hit) { pointer-events: none; } .rvx .hit:hover { fill: var(--hover); } .rvx .hit:focus-visible { stroke: var(--rvamp); stroke-width: 2; }
.rvx .cell { cursor: pointer; outline: none; } .rvx .cell.chosen { stroke: var(--ink); stroke-width: 2; } .rvx .cell:focus-visible { stroke: var(--rvamp); stroke-width: 3; }
.rvx .tabs { display: flex; flex-wrap: wrap; gap: 2px 4px; border-bottom: 1px solid var(--refits); margin-bottom: 12px; }
.rvx button { font: inherit; color: var(--ink); background: none; border: 1px solid var(--edge); border-radius: 5px; padding: 4px 10px; min-height: 32px; cursor: pointer; }
.rvx button:hover { background: var(--hover); } .rvx :is(button, input, select, summary):focus-visible { outline: 2px solid var(--rvamp); outline-offset: 1px; }
.rvx .tabs button { border: 0; border-bottom: 3px solid transparent; border-radius: 0; padding: 6px 10px; } .rvx .tabs button[aria-selected=true] { border-bottom-color: var(--p1); font-weight: 600; }
.rvx .side { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: flex-start; } .rvx .stack { display: flex; flex-direction: column; gap: 6px; } .rvx .map { margin: 0; } .rvx .map figcaption { font-size: 12.5px; color: var(--soft); max-width: 250px; text-align: left; margin: 2px 0 0; }
.rvx .controls { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px 28px; margin: 12px 0; align-items: start; }
.rvx .control { display: block; } .rvx .whole { grid-column: 1 / -1; } .rvx .rest { color: var(--soft); font-size: 12.5px; } .rvx .value .rest.long { display: block; } .rvx button:disabled { opacity: 0.45; cursor: default; background: none; } .rvx .control .value { display: block; } .rvx .control b { font-weight: 600; } .rvx input[type=range] { width: 100%; margin: 4px 0 0; accent-color: var(--rvamp); min-height: 24px; display: block; }
.rvx .marks { display: flex; justify-content: space-between; padding: 0 7px; height: 5px; } .rvx .marks i { width: 3px; height: 5px; background: transparent; border-radius: 1px; } .rvx .marks i.is { background: var(--soft); }
.rvx fieldset { border: 0; padding: 0; margin: 0; min-width: 0; } .rvx legend { font: inherit; padding: 0; float: none; width: auto; margin: 0 0 3px; color: var(--ink); } .rvx .choices { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; } .rvx .choices label { display: inline-flex; gap: 5px; align-items: center; min-height: 30px; }
.rvx select { font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--edge); border-radius: 5px; padding: 4px 6px; min-height: 32px; max-width: 100%; } .rvx input[type=radio], .rvx input[type=checkbox] { accent-color: var(--rvamp); width: 17px; height: 17px; margin: 0; }
.rvx svg.cut { overflow: hidden; max-width: none; } .rvx .ribbon { fill: var(--p1); fill-opacity: 0.3; stroke: var(--p1); stroke-width: 0.8; } .rvx .ring1 { fill: none; stroke: var(--p1); stroke-width: 2.4; }
.rvx .key { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 0 0 8px; font-size: 13px; line-height: 1.35; } .rvx .key span { display: inline-flex; gap: 6px; align-items: baseline; } .rvx .key svg { flex: none; width: 22px; height: 12px; transform: translateY(1px); }
.rvx .panel { display: flex; flex-direction: column; } .rvx .panel > * { min-width: 0; }
.rvx .says { margin: 10px 0 6px; min-height: 2.9em; } .rvx .count { min-height: 4.4em; } .rvx .count:empty { display: none; } .rvx .hint { color: var(--soft); margin: 0 0 4px; } .rvx .scroll { overflow-x: auto; } .rvx .scroll table { border: 0; border-collapse: collapse; font-size: 13.5px; margin: 0 0 8px; box-shadow: none; width: auto; } .rvx .scroll :is(th, td) { border: 0; border-bottom: 1px solid var(--guide); padding: 3px 14px 3px 0; text-align: left; background: none; font-variant-numeric: tabular-nums; white-space: nowrap; } .rvx thead th { font-weight: 400; color: var(--soft); } .rvx tbody th { font-weight: 600; } .rvx tr { background: none !important; }
.rvx details { border-left: 3px solid var(--refits); padding: 2px 0 2px 12px; margin: 6px 0; } .rvx summary { cursor: pointer; } .rvx details p { margin: 6px 0 2px; }
.rvx.own p { margin: 6px 0 12px; } .rvx input[type=file] { font: inherit; min-height: 32px; max-width: 100%; } .rvx .send { margin: 8px 0; } .rvx .send p { margin: 0; color: var(--soft); }
.rvx .fall { fill: var(--ink); opacity: 0; animation: rvx-fall 0.55s ease-in both; } @keyframes rvx-fall { 0% { opacity: 0.9; transform: none; } 85% { opacity: 0.7; } 100% { opacity: 0; transform: translateY(var(--down)); } }
.rvx .coming { animation: rvx-come 0.3s; } .rvx .leaving { animation: rvx-come 0.3s reverse both; pointer-events: none; } @keyframes rvx-come { 0% { opacity: 0; } }
@container (max-width: 560px) { .rvx .says { min-height: 5.8em; } .rvx .count { min-height: 8.7em; } .rvx .hint { order: 1; margin: 8px 0; } .rvx .last { order: 2; } .rvx .controls { grid-template-columns: minmax(0, 1fr); } .rvx .stack { flex-direction: row; gap: 4px; align-items: flex-start; } .rvx .map figcaption { max-width: none; } .rvx .scroll table { font-size: 12.5px; } .rvx .scroll :is(th, td) { padding-right: 9px; } }
@media (prefers-reduced-motion: reduce) { .rvx :is(.fall, .leaving) { display: none; } .rvx .coming { animation: none; } }`.replaceAll("DARK", "--ink: #E6E6E6; --soft: #A9AFB5; --paper: #131416; --refits: #565B60; --edge: #7B8187; --guide: #2E3236; --track: #2A2D31; --p1: #F28A3C; --p1-text: #F7A468; --p2: #56B4E9; --p2-text: #83CBF3; --rvamp: #7CC4EE; --accent: #45B892; --hover: #1F2226; --dots: 0.6;");

// A slider with its name and value above it; `marks` are the stops that have refits.
function slider(name, label, { max, value, shown, marks, min = 0, step = 1 }, moved) {
  const input = h("input", { type: "range", min, max, step, value, "aria-label": label, "data-key": name, "data-lm-suppress-shortcuts": "" }); // else JupyterLab takes the arrow keys
  const text = h("span", { class: "value" });
  const write = () => {
    const [bold, rest] = [shown(Number(input.value))].flat();
    text.replaceChildren(`${label}: `, h("b", {}, bold), ...(rest ? [" ", h("span", { class: rest.length > 24 ? "rest long" : "rest" }, rest)] : []));
    input.setAttribute("aria-valuetext", `${bold} ${rest ?? ""}`);
  };
  input.addEventListener("input", () => { write(); moved(Number(input.value)); });
  write();
  const label1 = h("label", { class: "control" }, text, input);
  if (marks) label1.append(h("div", { class: "marks", "aria-hidden": "true", title: "refits were made here" }, ...Array.from({ length: max + 1 }, (_, k) => h("i", marks.includes(k) ? { class: "is" } : {}))), h("span", { class: "rest" }, "marks: refits were made here"));
  return Object.assign(label1, { set: (v) => { input.value = v; write(); } });
}
export function menu(name, label, names, value, chosen) {
  const select = h("select", { "data-key": name, "aria-label": label, "data-lm-suppress-shortcuts": "" }, ...names.map((text, k) => h("option", { value: k, ...(k === value ? { selected: "" } : {}) }, text)));
  select.addEventListener("change", () => chosen(Number(select.value)));
  return h("label", { class: "control" }, h("span", { class: "value" }, label), select);
}
function radios(label, name, texts, value, chosen, only) {
  const inputs = texts.map((text, k) => {
    const input = h("input", { type: "radio", name, value: k, "data-lm-suppress-shortcuts": "", "data-key": `${label}${k}`, ...(k === value ? { checked: "" } : {}) });
    input.addEventListener("change", () => chosen(k));
    return h("label", {}, input, text);
  });
  return h("fieldset", { class: "control" }, h("legend", {}, label), h("div", { class: "choices" }, ...inputs, ...(only ?? [])));
}
const button = (key, text, pressed) => {
  const made = h("button", { type: "button", "data-key": key, "data-lm-suppress-shortcuts": "" }, text);
  made.addEventListener("click", pressed);
  return made;
};

// --- what is sent: the state in an address, and the picture as a file ----------------------------------------------------------------
// Key of the address, part of the state, and the words for its values 0, 1, 2 ...
const addressWords = (data) => [
  ["coefficient", "i", data.names],
  ["lam", "l", data.lamNames.map((name) => [name].flat()[0])],
  ["size", "t", data.taus.map(String)],
  ["drawn", "d", data.drawn.map((drawn) => (drawn ? "yes" : "no"))],
  ["step", "step", data.deltas.map((_, k) => String(k + 1))],
  ["beta", "b", data.betaNames ?? []],
];
// What a state differs in from the first one, as an address has it behind its #.
export function addressOf(state, first, data) {
  const parts = new URLSearchParams();
  if (state.panel !== first.panel) parts.set("panel", state.panel);
  for (const [key, part, words] of addressWords(data)) {
    if (state[part] !== first[part]) parts.set(key, words[state[part]]);
  }
  if (String(state.pair) !== String(first.pair)) ["first", "second"].forEach((key, k) => parts.set(key, data.names[state.pair[k]]));
  if (state.shift !== first.shift) parts.set("shift", state.shift);
  if (state.n !== first.n) parts.set("refits", state.n);
  if (state.offset !== first.offset) parts.set("after", state.offset);
  return parts.toString();
}
// The state of such an address. What it says of nothing that is here is left as it is first.
export function stateOf(address, first, data) {
  const parts = new URLSearchParams(address), state = { ...first };
  const number = (key, low, high) => {
    const value = parseFloat(parts.get(key));
    return value >= low && value <= high ? value : null;
  };
  if (data.panels.includes(parts.get("panel"))) state.panel = parts.get("panel");
  for (const [key, part, words] of addressWords(data)) {
    if (words.includes(parts.get(key))) state[part] = words.indexOf(parts.get(key));
  }
  const pair = ["first", "second"].map((key) => data.names.indexOf(parts.get(key)));
  if (pair[0] !== pair[1] && !pair.includes(-1)) state.pair = pair;
  state.shift = number("shift", -3, 3) ?? first.shift;
  state.n = Math.round(number("refits", 0, data.B) ?? first.n);
  state.offset = Math.round(number("after", 0, data.B) ?? first.offset);
  return state;
}

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "paint-order", "font-size", "font-weight", "text-anchor"];
// A colour as every program reads it.
const plainly = (value) => value.replace("rgba(0, 0, 0, 0)", "none").replace(/color\(srgb ([^)/]+).*\)/, (_, parts) => `rgb(${parts.trim().split(" ").map((part) => Math.round(255 * part))})`);
// A drawing of the page with its looks written on it, as the style sheet stays behind; without what is only pressed.
function withLooks(drawing) {
  const copy = drawing.cloneNode(true), parts = [...copy.querySelectorAll("*")];
  drawing.querySelectorAll("*").forEach((part, k) => {
    const style = getComputedStyle(part), shape = !["g", "svg"].includes(part.tagName);
    for (const name of ["class", "style", "role", "tabindex", "data-key", "data-lm-suppress-shortcuts", "aria-pressed"]) parts[k].removeAttribute(name);
    if (part.matches(".hit, .fall, .leaving")) parts[k].remove();
    else if (shape) for (const name of LOOKS) parts[k].setAttribute(name, plainly(style.getPropertyValue(name)));
  });
  return built(copy, { overflow: "visible" }, []);
}
// The lines of text of an element that stand outside its drawings, as SVG; `shift` moves what stands in the page into the picture.
function linesOf(element, shift) {
  const lines = [], range = document.createRange(), walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("svg")) continue;
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const box = range.getBoundingClientRect(), last = lines.at(-1);
      if (!box.width) continue;
      if (last?.node === node && Math.abs(last.box.top - box.top) < 3) last.text += ` ${word}`;
      else lines.push({ node, box, text: word });
    }
  }
  return lines.map(({ node, box, text }) => {
    const style = getComputedStyle(node.parentElement);
    return words(box.left + shift.x, box.top + shift.y + 0.78 * box.height, text, { fill: style.color, "font-size": style.fontSize, "font-weight": style.fontWeight });
  });
}
// One SVG of these elements, which stand below each other in the page; what stood between them is left out.
function pictureOf(root, heading, elements) {
  const pad = 16, style = getComputedStyle(root), picture = s("svg", { xmlns: SVG, "font-family": style.fontFamily, "font-size": 13 });
  const paper = s("rect", { fill: style.backgroundColor, width: "100%", height: "100%" });
  let y = pad + 14, width = root.clientWidth;
  picture.append(paper, ...heading.map((text, k) => words(pad, y + 20 * k, text, { fill: style.color, "font-weight": k ? 400 : 600 })));
  y += 20 * heading.length;
  for (const element of elements.filter((each) => each.offsetHeight && each.childNodes.length)) {
    const box = element.getBoundingClientRect(), shift = { x: pad - box.left, y: y - box.top };
    for (const drawing of element.querySelectorAll("svg:not(svg svg)")) {
      const at = drawing.getBoundingClientRect();
      picture.append(built(withLooks(drawing), { x: at.left + shift.x, y: at.top + shift.y, width: at.width, height: at.height }, []));
    }
    picture.append(...linesOf(element, shift));
    y += box.height + 10;
    width = Math.max(width, element.scrollWidth);
  }
  const size = [width + 2 * pad, y + pad - 10].map(Math.ceil);
  return { picture: built(picture, { width: size[0], height: size[1], viewBox: `0 0 ${size.join(" ")}` }, []), size };
}
async function asPng(text, [width, height]) { // two pixels for one, as a screen of a phone has
  const image = new Image(), canvas = built(document.createElement("canvas"), { width: 2 * width, height: 2 * height }, []);
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  await image.decode();
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
function download(blob, name) {
  const href = URL.createObjectURL(blob);
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

let explorers = 0;
export function render({ model, el }) {
  const data = unpack(model.get("table")), id = `rvx${explorers++}`, panels = data.panels.filter((name) => PANELS[name]);
  const first = { panel: panels[0], i: data.lead ?? 0, l: data.start[0], t: data.start[1], d: data.start[2], shift: 0, n: data.B, offset: 0, pair: data.pair ?? [0, 1], step: 0, b: 0 };
  const own = data.page && location.protocol !== "about:"; // the page is the explorer's: its address is, too
  const state = { ...(own ? stateOf(location.hash.slice(1), first, data) : first), fallen: [], worth: {}, rooms: {}, maps: {}, focus: null };
  const root = h("div", { class: "rvx" }), tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "What to look at" }), body = h("div", { role: "tabpanel", class: "panel", id: `${id}body` });
  const stage = h("div", { class: "stage" }), controls = h("div", { class: "controls" }), says = h("p", { class: "says", "aria-live": "polite" }), below = h("div", { class: "scroll" }), hint = h("p", { class: "hint" }), keys = h("p", { class: "key" }), count = h("p", { class: "says count" }), asides = h("div", { class: "aside" }), questions = h("div", { class: "last" });
  const sent = h("p", { role: "status" }), send = h("div", { class: "choices send" });
  const at = () => el.getRootNode().activeElement;
  let timer = null, noted = null, drawn = null, width = 700;
  const measure = () => { width = Math.max(Math.floor(root.clientWidth || el.clientWidth || 700), 280); }; // not at each move: it takes as long as a picture

  function draw() {
    const made = PANELS[state.panel][1](data, state, width, act);
    const held = state.focus ?? (stage.contains(at()) || asides.contains(at()) ? at().dataset.key : null);
    const now = `${state.panel} ${width}`, refits = () => [...stage.querySelectorAll('.refits[d*="M"]:not(.leaving), .cloud[d*="M"]:not(.leaving)')], before = now === drawn ? refits() : [];
    stage.replaceChildren(made.picture);
    // refits were made at some penalties only: they come and go softly as λ moves
    if (now === drawn && before.length > 0 !== refits().length > 0) {
      for (const each of refits()) each.classList.add("coming");
      stage.querySelector("svg").prepend(...before.map((each) => {
        const box = each.closest(".cut").cloneNode(false); // in which it stood
        each.classList.add("leaving");
        box.append(each);
        return box;
      }));
    }
    keys.replaceChildren(...made.key);
    hint.textContent = made.hint ?? "";
    hint.hidden = !made.hint;
    below.replaceChildren(...(made.table ? [made.table] : []));
    count.replaceChildren(...(made.count ? [h("b", {}, made.count[0]), made.count[1]] : []));
    says.textContent = made.says;
    drawn = now;
    asides.replaceChildren(...(made.aside ? [made.aside] : []));
    const here = data.B && data.refits(state.panel === "pair" ? { l: state.l, ...data.usual } : place(state), 0);
    for (const each of controls.querySelectorAll(".draw button")) each.disabled = !here;
    if (held) body.querySelector(`.stage [data-key="${held}"], .aside [data-key="${held}"]`)?.focus();
    Object.assign(state, { fallen: [], focus: null });
    sent.textContent = "";
    clearTimeout(noted);
    if (own) noted = setTimeout(note, 200); // browsers count how often
  }
  function note() {
    const elsewhere = location.hash && !location.hash.includes("="); // a place in the page
    if (!elsewhere || addressOf(state, first, data)) history.replaceState(null, "", link());
  }
  function link() {
    const address = addressOf(state, first, data);
    return location.href.split("#")[0] + (address && `#${address}`);
  }
  async function copyLink() {
    history.replaceState(null, "", link());
    try {
      await navigator.clipboard.writeText(link());
      sent.textContent = "copied: whoever opens the link sees the same";
    } catch { // not every page may
      sent.textContent = "this browser does not let a page copy: take the link from its address bar";
    }
  }
  async function save(kind) {
    const usual = { l: data.start[0], ...data.usual }, at = { ridgeline: place(state), one: place(state), pair: { ...usual, l: state.l } }[state.panel] ?? usual;
    const moved = state.panel === "one" && state.shift ? [`field moved by ${short(state.shift)} standard deviations`] : [];
    root.getAnimations({ subtree: true }).forEach((each) => each.finish()); // what comes is there
    const { picture, size } = pictureOf(root, [PANELS[state.panel][0], [...setting(data, at), ...moved].join(", ")], [keys, stage, says, count, below, asides]);
    const text = new XMLSerializer().serializeToString(picture), name = `explorer-${state.panel}.${kind}`;
    download(kind === "png" ? await asPng(text, size) : new Blob([text], { type: "image/svg+xml" }), name);
    sent.textContent = `saved as ${name}`;
  }
  function goTo() { // an address that is typed or pasted; one without = names a place in the page
    if (!location.hash.includes("=")) return;
    Object.assign(state, stateOf(location.hash.slice(1), first, data));
    open(false);
  }
  function act(change) { // what a press in a picture or a tab does
    const moved = change.panel && change.panel !== state.panel;
    if (moved) state.shift = 0; // a question of one panel
    Object.assign(state, change);
    if (moved) return open(true);
    if (change.pair) fill();
    draw();
  }
  const set = (change) => { Object.assign(state, change); draw(); };
  function drawMore(k, fresh) {
    const refits = state.panel !== "pair" && data.refits(place(state), state.i), before = fresh ? 0 : state.n;
    if (fresh) state.offset = (state.offset + state.n) % data.B;
    state.n = Math.min(before + k, data.B);
    if (refits && state.panel === "one") state.fallen = Array.from({ length: Math.min(state.n - before, 60) }, (_, j) => refits.codes[(state.offset + before + j) % data.B]);
    draw();
  }
  const MAKE = {
    coefficient: () => menu("coefficient", "coefficient", data.names, state.i, (i) => set({ i })),
    lam: () => slider("lam", "penalty λ", { max: data.lams.length - 1, value: state.l, shown: (l) => data.lamNames[l], marks: data.refits && data.B ? model.get("table").refits.stops : null }, (l) => set({ l })),
    shift: () => slider("shift", "what if the data pulled it (its field) by", { min: -3, max: 3, step: 0.25, value: state.shift, shown: (v) => [`${v > 0 ? "+" : v < 0 ? "−" : ""}${Math.abs(v)}`, "standard deviations"] }, (shift) => set({ shift })),
    step: () => {
      const box = slider("step", "step of the iteration", { max: data.deltas.length - 1, value: state.step, shown: (k) => [`${k + 1}`, `of ${data.deltas.length}`] }, (step) => set({ step }));
      const play = button("play", "play", () => {
        clearInterval(timer);
        set({ step: 0 });
        box.set(0);
        timer = setInterval(() => {
          if (state.panel !== "iteration" || state.step >= data.deltas.length - 1 || !root.isConnected) return clearInterval(timer);
          set({ step: state.step + 1 });
          box.set(state.step);
        }, 650);
      });
      return h("div", { class: "control" }, box, play);
    },
    beta: () => slider("beta", "inverse temperature β", { max: data.betas.length - 1, value: state.b, shown: (b) => data.betaNames[b] }, (b) => set({ b })),
    law: () => {
      const parts = [];
      if (data.taus.length > 1) parts.push(radios("resample size, in shares of the rows (τ)", `${id}tau`, data.taus.map(String), state.t, (t) => set({ t })));
      if (data.drawn.length > 1) {
        const box = h("input", { type: "checkbox", "data-key": "drawn", "data-lm-suppress-shortcuts": "", ...(data.drawn[state.d] ? { checked: "" } : {}) });
        box.addEventListener("change", () => set({ d: data.drawn.indexOf(box.checked) }));
        parts.push(h("div", { class: "choices" }, h("label", {}, box, "each resample draws λ or 2λ for each coefficient (randomized Lasso)")));
      }
      return parts.length ? h("div", { class: "control" }, ...parts) : null;
    },
    draw: () => (data.B ? h("fieldset", { class: "control whole draw" }, h("legend", {}, "draw refits"), h("div", { class: "choices" },
      ...[1, 10, 100].map((k) => button(`draw${k}`, `+ ${k}`, () => drawMore(k))), button("drawall", `all ${data.B.toLocaleString("en")}`, () => { state.offset = 0; drawMore(data.B); }),
      button("another", "another 100", () => drawMore(100, true)), button("clear", "none", () => set({ n: 0, offset: 0 })))) : null),
    pairs: () => {
      const choose = (k) => (i) => { // one that is there already changes places
        const [here, other] = [state.pair[k], state.pair[1 - k]], rest = i === other ? here : other;
        act({ pair: k ? [rest, i] : [i, rest] });
      };
      return h("div", { class: "control choices" }, menu("first", "first coefficient", data.names, state.pair[0], choose(0)), menu("second", "second coefficient", data.names, state.pair[1], choose(1)));
    },
  };
  function fill() {
    const held = controls.contains(at()) ? at().dataset.key : null;
    controls.replaceChildren(...PANELS[state.panel][2].map((name) => MAKE[name]()).filter(Boolean));
    if (held) controls.querySelector(`[data-key="${held}"]`)?.focus();
  }
  function open(focused) {
    for (const tab of tabs.children) {
      const is = tab.dataset.key === state.panel;
      tab.setAttribute("aria-selected", is);
      tab.tabIndex = is ? 0 : -1;
      if (is) { body.setAttribute("aria-labelledby", tab.id); if (focused) tab.focus({ preventScroll: true }); }
    }
    fill();
    draw();
    questions.replaceChildren(...(data.questions?.[state.panel] ?? []).map(([question, answer]) => h("details", {}, h("summary", { "data-lm-suppress-shortcuts": "" }, question), h("p", {}, answer))));
  }
  panels.forEach((name, k) => {
    const tab = button(name, PANELS[name][0], () => act({ panel: name }));
    built(tab, { role: "tab", id: `${id}tab${k}`, "aria-controls": `${id}body` }, []);
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) { event.preventDefault(); act({ panel: panels[(k + by + panels.length) % panels.length] }); }
    });
    tabs.append(tab);
  });
  send.append(...(own ? [button("link", "copy link", copyLink)] : []), button("png", "save as PNG", () => save("png")), button("svg", "save as SVG", () => save("svg")), sent);
  body.append(hint, keys, stage, controls, says, count, below, asides, send, questions);
  root.append(h("style", {}, STYLE), tabs, body);
  el.append(root);
  measure();
  open(false);
  const watch = new ResizeObserver(() => { const before = width; measure(); if (Math.abs(width - before) > 2) draw(); });
  watch.observe(root);
  if (own) addEventListener("hashchange", goTo);
  return () => { clearInterval(timer); clearTimeout(noted); watch.disconnect(); removeEventListener("hashchange", goTo); };
}
export default { render };
