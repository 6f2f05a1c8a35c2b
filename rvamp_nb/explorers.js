// Explorers that need no kernel: p̄₁ (and a Gaussian with its moments) over a histogram, redrawn as controls move; and films,
// whose pictures come with the page. The first half is mathematics, which node tests against Python; the second half draws.

// erfc by a series of positive terms near zero and a continued fraction beyond: full double precision.
export function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  if (x < 3) {
    let term = x, sum = x;
    for (let n = 1; n < 120; n++) { term *= 2 * x * x / (2 * n + 1); sum += term; }
    return 1 - 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
  }
  let tail = x;
  for (let n = 120; n > 0; n--) tail = x + n / 2 / tail;
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / tail;
}
export const Phi = (x) => erfc(-x / Math.SQRT2) / 2;
export const phi = (x) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);

// A message is {Q_hat, h, chi_hat, lams, weights}: the field's law and the penalties of the mixture (chi_hat > 0).
const average = (m, f) => m.lams.reduce((sum, lam, k) => sum + m.weights[k] * f(lam), 0);
const z = (m, lam, x) => (m.Q_hat * x + (x < 0 ? -lam : lam) - m.h) / Math.sqrt(m.chi_hat);
export const cdf = (m, x) => average(m, (lam) => Phi(z(m, lam, x)));
export const pdf = (m, x) => average(m, (lam) => m.Q_hat / Math.sqrt(m.chi_hat) * phi(z(m, lam, x)));
export const atom = (m) => average(m, (lam) => {
  const s = Math.sqrt(m.chi_hat), size = Math.abs(m.h);
  return Phi((lam - size) / s) - Phi((-lam - size) / s);
});
// First and second moment, from the ramp (a + xi)_+.
export function moments(m) {
  const s = Math.sqrt(m.chi_hat);
  const first = (a) => a * Phi(a) + phi(a), second = (a) => (a * a + 1) * Phi(a) + a * phi(a);
  const mean = average(m, (lam) => s / m.Q_hat * (first((m.h - lam) / s) - first((-m.h - lam) / s)));
  const square = average(m, (lam) => m.chi_hat / m.Q_hat ** 2 * (second((m.h - lam) / s) + second((-m.h - lam) / s)));
  return { mean, variance: square - mean * mean };
}
export const shifted = (m, deviations) => ({ ...m, h: m.h + deviations * Math.sqrt(m.chi_hat) });
// Entries lie in the order of nested loops over the choices, the last one fastest.
export const entryAt = (choices, picks) => choices.reduce((index, choice, k) => index * choice.values.length + picks[k], 0);

// ---------------------------------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg", WIDTH = 640, HEIGHT = 320, LEFT = 52, BOTTOM = 40, TOP = 48;
function node(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export function picture(table, entry, shift) {
  const m = shifted(entry.message, shift), [low, high] = table.span, colours = table.colours;
  const x = (v) => LEFT + (v - low) / (high - low) * (WIDTH - LEFT - 10), y = (v) => HEIGHT - BOTTOM - v / table.top * (HEIGHT - BOTTOM - TOP);
  const numbers = `P[x = 0]: p̄₁ ${atom(m).toFixed(3)}, refits ${entry.zeros.toFixed(3)}`;
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: "100%", role: "img", "aria-label": `${table.label}; ${numbers}`,
    "font-family": "sans-serif", "font-size": 13 });
  svg.append(node("rect", { x: 0, y: 0, width: WIDTH, height: HEIGHT, fill: "white" }));
  const step = (high - low) / entry.bars.length;
  entry.bars.forEach((bar, k) => svg.append(node("rect", { x: x(low + k * step), y: y(Math.min(bar, table.top)), width: x(low + step) - x(low),
    height: y(0) - y(Math.min(bar, table.top)), fill: colours.muted })));
  const grid = Array.from({ length: 401 }, (_, k) => low + (high - low) * k / 400);
  const curve = (f, colour, dash) => svg.append(node("polyline", { fill: "none", stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash,
    points: grid.map((v) => `${x(v).toFixed(2)},${y(Math.min(f(v), table.top)).toFixed(2)}`).join(" ") }));
  curve((v) => pdf(m, v), colours.p1, "none");
  if (table.gaussian) {
    const { mean, variance } = moments(m), sd = Math.sqrt(variance);
    curve((v) => phi((v - mean) / sd) / sd, colours.p2, "8 3 2 3");
  }
  svg.append(node("line", { x1: x(0), x2: x(0), y1: y(0), y2: y(atom(m) * table.top), stroke: colours.p1, "stroke-width": 6 }));
  svg.append(node("line", { x1: LEFT, x2: WIDTH - 10, y1: y(0), y2: y(0), stroke: "black" }));
  for (let tick = Math.ceil(low * 2) / 2; tick <= high; tick += 0.5) svg.append(node("text", { x: x(tick), y: y(0) + 17, "text-anchor": "middle" }, tick.toFixed(1)));
  svg.append(node("text", { x: WIDTH / 2, y: HEIGHT - 6, "text-anchor": "middle" }, table.label));
  for (let tick = 0; tick <= table.top; tick += 0.5) {
    svg.append(node("line", { x1: LEFT - 4, x2: LEFT, y1: y(tick), y2: y(tick), stroke: "black" }));
    svg.append(node("text", { x: LEFT - 7, y: y(tick) + 4.5, "text-anchor": "end" }, tick.toFixed(1)));
  }
  svg.append(node("line", { x1: LEFT, x2: LEFT, y1: y(0), y2: y(table.top), stroke: "black" }));
  svg.append(node("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(13 ${y(table.top / 2)}) rotate(-90)` }, "density"));
  svg.append(node("text", { x: LEFT, y: 16 }, `${numbers} (the thick bar; full height is 1)`));
  const legend = [["refits", colours.muted, 12, "none"], ["p̄₁", colours.p1, 2.5, "none"]];
  if (table.gaussian) legend.push(["p̄₂, the Gaussian with its mean and variance", colours.p2, 2.5, "8 3 2 3"]);
  legend.forEach(([text, stroke, width, dash], k) => {
    const start = LEFT + 90 * k;
    svg.append(node("line", { x1: start, x2: start + 26, y1: 33, y2: 33, stroke, "stroke-width": width, "stroke-dasharray": dash }));
    svg.append(node("text", { x: start + 32, y: 38 }, text));
  });
  return svg;
}

// A film: on the first picture lies what differs from it in the one that is chosen.
export function film(table) {
  const [width, height] = table.size, base = node("image", { href: table.base, width, height }), front = node("image", { width, height });
  const screen = node("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", style: `max-width: ${width}px` });
  screen.append(base, front);
  const show = (picks) => {
    front.setAttribute("href", table.frames[entryAt(table.choices, picks)]);
    screen.setAttribute("aria-label", table.choices.map((choice, k) => `${choice.name} = ${choice.values[picks[k]]}`).join(", "));
  };
  return { screen, show };
}

export function render({ model, el }) {
  const table = model.get("table"), picks = [...table.start], controls = document.createElement("div"), stage = document.createElement("div");
  let shift = 0, draw = () => stage.replaceChildren(picture(table, table.entries[entryAt(table.choices, picks)], shift));
  if (table.frames) {
    const { screen, show } = film(table);
    stage.append(screen);
    draw = () => show(picks);
  }
  const slider = (name, low, high, step, start, shown, moved) => {
    const row = document.createElement("label"), input = document.createElement("input"), text = document.createElement("span");
    row.style.cssText = "display: flex; gap: 0.8em; align-items: center; margin: 0.2em 0";
    Object.assign(input, { type: "range", min: low, max: high, step, value: start });
    input.style.width = "min(16em, 45%)";
    input.setAttribute("aria-label", name);
    input.dataset.lmSuppressShortcuts = ""; // in JupyterLab arrow keys move the slider, not the notebook from heading to heading
    const update = () => {
      const value = Number(input.value);
      moved(value);
      text.textContent = `${name} = ${shown(value)}`;
      input.setAttribute("aria-valuetext", shown(value));
      draw();
    };
    input.addEventListener("input", update);
    row.append(input, text);
    controls.append(row);
    update();
  };
  table.choices.forEach((choice, k) => slider(choice.name, 0, choice.values.length - 1, 1, picks[k], (v) => choice.values[v], (v) => { picks[k] = v; }));
  if (table.shift) slider("field moved by (standard deviations)", -2, 2, 0.25, 0, (v) => v.toFixed(2), (v) => { shift = v; });
  el.append(controls, stage);
}
export default { render };
