// A table of the reader's in the explorer. It is read, checked and fitted in the page, and nothing of it is sent.
// The solver is that of chapter 3.8, line by line (rvamp_nb/course/micro.py); node compares the two.
import { Phi, phi, h, menu, render as explorer } from "../../rvamp_nb/course/widgets.js";

export const MOST_ROWS = 200;
export const MOST_COLUMNS = 50;
const FEWEST_ROWS = 10;
const MOST_BYTES = 2_000_000;

// --- reading ---------------------------------------------------------------------------------------------------------
const howMany = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
const GAPS = ["", "NA", "NaN", "N/A", "#N/A", "null"];
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// The cells of each line that is not empty, as {line, cells}. Cells are separated by commas, semicolons or tabs,
// whichever is most frequent in the first line; quotes hold what would end a cell.
export function linesOf(text) {
  const head = text.split("\n", 1)[0];
  const [separator] = [",", ";", "\t"].sort((a, b) => head.split(b).length - head.split(a).length);
  const lines = [];
  let line = 1;
  let quoteLine = 0; // where a quote began that is still open
  let current = { line, cells: [] };
  let cell = "";
  const endCell = () => {
    current.cells.push(cell.trim());
    cell = "";
  };
  const endLine = () => {
    endCell();
    if (current.cells.some((each) => each !== "")) lines.push(current);
    current = { line: line + 1, cells: [] };
  };
  for (let k = 0; k < text.length; k++) {
    const letter = text[k];
    if (letter === '"') {
      if (quoteLine && text[k + 1] === '"') cell += text[k++];
      else quoteLine = quoteLine ? 0 : line;
    } else if (quoteLine) cell += letter;
    else if (letter === separator) endCell();
    else if (letter === "\n") endLine();
    else cell += letter;
    if (letter === "\n") line++;
  }
  if (quoteLine) throw new Error(`A quote that begins in line ${quoteLine} has no end.`);
  endLine();
  return { separator, lines };
}

function namesOf(cells) {
  if (cells.every((cell) => NUMBER.test(cell))) throw new Error("Line 1 has numbers only. Put the names of the columns there.");
  cells.forEach((name, k) => {
    if (!name) throw new Error(`Column ${k + 1} has no name in line 1. Name it, or remove it if it only numbers the rows.`);
    if (cells.indexOf(name) < k) throw new Error(`Columns ${cells.indexOf(name) + 1} and ${k + 1} are both called “${name}”. Rename one.`);
  });
  return cells;
}

// The numbers of one column; else an error that says what is not one, and where.
function numbersOf(name, k, lines, decimal) {
  const cells = lines.map(({ line, cells }) => ({ line, cell: cells[k] }));
  const texts = cells.filter(({ cell }) => !GAPS.includes(cell) && !NUMBER.test(cell.replace(decimal, ".")));
  const gaps = cells.filter(({ cell }) => GAPS.includes(cell));
  if (texts.length) {
    const [{ cell, line }] = texts;
    throw new Error(`Column “${name}” holds text in ${texts.length} of ${howMany(cells.length, "row")} (first: “${cell}”, line ${line}). Write numbers there, or remove the column.`);
  }
  if (gaps.length) throw new Error(`Column “${name}” has ${howMany(gaps.length, "gap")} (first: line ${gaps[0].line}). Fill them, or remove their rows.`);
  const numbers = cells.map(({ cell }) => Number(cell.replace(decimal, ".")));
  if (!numbers.every(Number.isFinite)) throw new Error(`Column “${name}” has a number that is too large.`);
  if (numbers.every((value) => value === numbers[0])) throw new Error(`Column “${name}” is ${numbers[0]} in every row, so it explains nothing. Remove it.`);
  return Float64Array.from(numbers);
}

// The table of a CSV, {names, columns}. An Error with a sentence for the reader where it is not one of numbers.
export function readTable(text) {
  const { separator, lines } = linesOf(text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n"));
  if (!lines.length) throw new Error("The file is empty.");
  const [head, ...rest] = lines;
  const names = namesOf(head.cells);
  const features = names.length - 1;
  if (features < 1) throw new Error(`The file has one column, “${names[0]}”. It takes a target and at least one other column, separated by commas, semicolons or tabs.`);
  const odd = rest.find(({ cells }) => cells.length !== names.length);
  if (odd) throw new Error(`Line ${odd.line} has ${howMany(odd.cells.length, "cell")}, and line 1 has ${howMany(names.length, "name")}.`);
  if (rest.length < FEWEST_ROWS) throw new Error(`The table has ${howMany(rest.length, "row")} below the names. Resampling takes at least ${FEWEST_ROWS}.`);
  if (rest.length > MOST_ROWS || features > MOST_COLUMNS) {
    throw new Error(`The table has ${howMany(rest.length, "row")} and ${howMany(features, "column")} beside the target. This page takes at most ${MOST_ROWS} rows and ${MOST_COLUMNS} columns; the Python package takes more.`);
  }
  const decimal = separator === "," ? "." : ",";
  return { names, columns: names.map((name, k) => numbersOf(name, k, rest, decimal)) };
}

// --- the solver of chapter 3.8 ---------------------------------------------------------------------------------------
export const COIN = [[0, 0.5], [1, 0.5]]; // how often a row is drawn, and with which probability
const dot = (a, b) => {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
};
const each = (v, f) => Float64Array.from(v, (_, k) => f(k));
const times = (rows, v) => each(rows, (k) => dot(rows[k], v));
const transposed = (rows) => Array.from(rows[0], (_, k) => each(rows, (m) => rows[m][k]));
const largestOf = (v) => v.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

// The inverse of a symmetric positive definite matrix, from its Cholesky factor L: G = L^-T L^-1.
function inverse(S) {
  const n = S.length;
  const L = S.map((row) => Float64Array.from(row));
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const [a, b] = [L[i], L[j]];
      let rest = S[i][j];
      for (let k = 0; k < j; k++) rest -= a[k] * b[k];
      a[j] = i === j ? Math.sqrt(rest) : rest / b[j];
    }
  }
  // row j of K holds column j of L^-1: its numbers from j on
  const K = S.map(() => new Float64Array(n));
  for (let j = 0; j < n; j++) {
    const column = K[j];
    for (let i = j; i < n; i++) {
      const row = L[i];
      let rest = i === j ? 1 : 0;
      for (let k = j; k < i; k++) rest -= row[k] * column[k];
      column[i] = rest / row[i];
    }
  }
  const G = S.map(() => new Float64Array(n));
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const [a, b] = [K[i], K[j]];
      let sum = 0;
      for (let k = i; k < n; k++) sum += a[k] * b[k];
      G[i][j] = sum;
      G[j][i] = sum;
    }
  }
  return G;
}

// E[z > 0], E max(z, 0) and E max(z, 0)² for z of N(a, s²).
function above(a, s) {
  const share = Phi(a / s);
  const bell = s * phi(a / s);
  return [share, a * share + bell, (a * a + s * s) * share + a * bell];
}

function prior({ Q_hat, h, chi_hat }, lam) {
  const sides = (i) => [above(h[i] - lam, Math.sqrt(chi_hat[i])), above(-h[i] - lam, Math.sqrt(chi_hat[i]))];
  const all = Array.from(h, (_, i) => sides(i));
  const Pi = each(h, (i) => all[i][0][0] + all[i][1][0]);
  const mean = each(h, (i) => (all[i][0][1] - all[i][1][1]) / Q_hat[i]);
  const chi = each(h, (i) => Pi[i] / Q_hat[i]);
  const variance = each(h, (i) => (all[i][0][2] + all[i][1][2]) / Q_hat[i] ** 2 - mean[i] ** 2);
  return { mean, chi, variance, Pi };
}

function likelihood({ Q_hat, h, chi_hat }, y, law) {
  const average = (f) => law.reduce((sum, [count, share]) => sum + share * f(count), 0);
  const chi = each(h, (m) => average((c) => c / (1 + c * Q_hat[m])));
  const square = each(h, (m) => average((c) => (c / (1 + c * Q_hat[m])) ** 2));
  const mean = each(h, (m) => chi[m] * (y[m] + h[m]));
  const variance = each(h, (m) => square[m] * ((y[m] + h[m]) ** 2 + chi_hat[m]) - mean[m] ** 2);
  return { mean, chi, variance };
}

// The message to send: moments, minus the message received.
function passedOn({ mean, chi, variance }, { Q_hat, h, chi_hat }) {
  return {
    Q_hat: each(h, (m) => 1 / chi[m] - Q_hat[m]),
    h: each(h, (m) => mean[m] / chi[m] - h[m]),
    chi_hat: each(h, (m) => variance[m] / chi[m] ** 2 - chi_hat[m]),
  };
}

// D, r, T, which stay finite where a coefficient is never selected.
function passedOnInverted({ mean, chi, variance, Pi }, { h, chi_hat }) {
  const zero = each(h, (i) => Math.max(1 - Pi[i], 1e-6)); // how often it is 0
  return {
    D: each(h, (i) => chi[i] / zero[i]),
    r: each(h, (i) => (mean[i] - chi[i] * h[i]) / zero[i]),
    T: each(h, (i) => Math.max(variance[i] - chi[i] ** 2 * chi_hat[i], 0) / zero[i] ** 2),
  };
}

// The coefficients' mean, both messages, and B and back = A'G, of which p̄₂'s covariance is made.
function coupling(A, At, { D, r, T }, { Q_hat, h, chi_hat }) {
  const ADA = (a, k) => {
    const scaled = each(a, (i) => a[i] * D[i]);
    return each(A, (m) => dot(scaled, A[m]) + (m === k ? Q_hat[m] : 0));
  };
  const G = inverse(A.map(ADA));
  const fitted = times(A, r);
  const u = times(G, each(h, (m) => h[m] - fitted[m]));
  const back = At.map((column) => times(G, column));
  const B = back.map((row) => times(At, row));
  const pull = times(At, u);
  const others = each(r, (i) => {
    const fromColumns = B[i].reduce((sum, value, j) => (j === i ? sum : sum + value ** 2 * T[j]), 0);
    return back[i].reduce((sum, value, m) => sum + value ** 2 * chi_hat[m], fromColumns);
  });
  const ofRows = each(h, (m) => {
    const fromRows = G[m].reduce((sum, value, n) => (n === m ? sum : sum + value ** 2 * chi_hat[n]), 0);
    return back.reduce((sum, row, i) => sum + row[m] ** 2 * T[i], fromRows);
  });
  const free = each(r, (i) => 1 - D[i] * B[i][i]);
  const toX = {
    Q_hat: each(r, (i) => B[i][i] / free[i]),
    h: each(r, (i) => (pull[i] + B[i][i] * r[i]) / free[i]),
    chi_hat: each(r, (i) => others[i] / free[i] ** 2),
  };
  const toU = {
    Q_hat: each(h, (m) => 1 / G[m][m] - Q_hat[m]),
    h: each(h, (m) => u[m] / G[m][m] - h[m]),
    chi_hat: each(h, (m) => ofRows[m] / G[m][m] ** 2),
  };
  return { mean: each(r, (i) => r[i] + D[i] * pull[i]), toX, toU, B, back };
}

const halfway = (old, found) => Object.fromEntries(Object.keys(old).map((key) => [key, each(old[key], (k) => (old[key][k] + found[key][k]) / 2)]));

// Half the sum of squares plus lam times that of absolute values, over resamples of the rows. `A` is a list of rows;
// `from` are the messages to begin with; `watch` gets each step, and ends it all if it returns true.
export function rvamp(A, y, lam, { law = COIN, tol = 1e-10, maxIter = 500, from = null, watch = () => {} } = {}) {
  const At = transposed(A);
  const tau = law.reduce((sum, [count, share]) => sum + share * count, 0);
  const spread = law.reduce((sum, [count, share]) => sum + share * count ** 2, 0) - tau ** 2;
  const y2 = each(y, (m) => y[m] ** 2);
  let toX = from?.toX ?? {
    Q_hat: each(At, (i) => tau * dot(At[i], At[i])),
    h: each(At, (i) => tau * dot(At[i], y)),
    chi_hat: each(At, (i) => spread * dot(each(y, (m) => At[i][m] ** 2), y2)),
  };
  let toU = from?.toU ?? {
    Q_hat: each(A, (m) => dot(A[m], A[m]) / At.length),
    h: new Float64Array(A.length),
    chi_hat: new Float64Array(A.length),
  };
  for (let iteration = 1; ; iteration++) {
    const x = prior(toX, lam);
    const ofX = passedOnInverted(x, toX);
    const ofU = passedOn(likelihood(toU, y, law), toU);
    const joint = coupling(A, At, ofX, ofU);
    const gap = largestOf(each(x.mean, (i) => joint.mean[i] - x.mean[i]));
    const fit = { mean: x.mean, variance: x.variance, Pi: x.Pi, field: toX, iterations: iteration, gap, toX, toU, ofX, ofU, joint };
    if (watch(fit) === true || gap < tol || !(gap < Infinity) || iteration === maxIter) return fit;
    toX = halfway(toX, joint.toX);
    toU = halfway(toU, joint.toU);
  }
}

// p̄₂'s covariance of some coefficients: what the noises of coefficients and rows contribute to each.
export function covariance({ ofX: { D, T }, ofU: { chi_hat }, joint: { B, back } }, shown) {
  const byColumns = shown.map((i) => each(D, (k) => ((i === k ? 1 : 0) - D[i] * B[i][k]) * Math.sqrt(T[k])));
  const byRows = shown.map((i) => each(chi_hat, (m) => D[i] * back[i][m] * Math.sqrt(chi_hat[m])));
  return shown.map((_, a) => shown.map((_, b) => dot(byColumns[a], byColumns[b]) + dot(byRows[a], byRows[b])));
}

// --- from a table to the explorer ------------------------------------------------------------------------------------
const PENALTIES = 21;
const RATIO = 1.2;
// How far apart the means of prior and coupling may be, where y has length 1. A fit ends when they are CLOSE; or NEAR, and no
// longer approach each other: where Π is 1 they stay some 1e-5 apart, as 1 - Π is taken as 1e-6 at least.
const CLOSE = 1e-7;
const NEAR = 1e-4;

// The column with mean 0 and length 1, and its standard deviation.
export function standardised(column) {
  const mean = column.reduce((sum, value) => sum + value / column.length, 0);
  const centred = each(column, (m) => column[m] - mean);
  const length = Math.sqrt(dot(centred, centred));
  return { values: each(centred, (m) => centred[m] / length), sd: length / Math.sqrt(column.length) };
}

function packed(numbers) {
  const bytes = new Uint8Array(Float64Array.from(numbers).buffer);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
const messageOf = ({ Q_hat, h, chi_hat }, i, unit) => [Q_hat[i] / unit ** 2, h[i] / unit, chi_hat[i] / unit ** 2];
const upper = (matrix) => matrix.flatMap((row, a) => row.slice(a));
const twoDigits = (share) => `${Number((100 * share).toPrecision(2))} %`;

function untilSettled() {
  const gaps = [];
  return ({ gap }) => {
    gaps.unshift(gap);
    return gap < NEAR && gap > gaps[4] / 2;
  };
}

// Fit at penalties from the largest on, each from the messages of the one before; `report` is waited for after each.
async function fitPath(A, y, largest, report) {
  const fits = [];
  for (let k = 0; k < PENALTIES; k++) {
    const lam = 0.8 * largest / RATIO ** k;
    const fit = rvamp(A, y, lam, { tol: CLOSE, maxIter: 200, from: fits.at(-1), watch: untilSettled() });
    if (!(fit.gap < NEAR)) break; // smaller penalties are harder
    fits.push({ ...fit, lam });
    await report(`penalty ${k + 1} of ${PENALTIES}`);
  }
  return fits;
}

// What the explorer shows of a table whose column number `target` is explained by the others. Coefficients are changes of
// the target for one standard deviation of a column.
export async function explored({ names, columns }, target, report = async () => {}) {
  const features = names.flatMap((_, k) => (k === target ? [] : [k]));
  const A = transposed(features.map((k) => standardised(columns[k]).values));
  const { values: y, sd: unit } = standardised(columns[target]);
  const largest = largestOf(times(transposed(A), y)) / 2; // half the rows are drawn
  const fits = (await fitPath(A, y, largest, report)).reverse();
  if (fits.length < 3) throw new Error("The iteration does not converge on this table, not even with large penalties. Do columns repeat each other?");
  const start = Math.floor(fits.length / 2);
  const { lam, Pi } = fits[start];
  const often = features.map((_, i) => i).sort((a, b) => Pi[b] - Pi[a]).slice(0, 10);
  const shown = [...often].sort((a, b) => a - b);
  const steps = [];
  const settled = untilSettled();
  const watch = (fit) => {
    steps.push(fit);
    return settled(fit);
  };
  rvamp(A, y, lam, { tol: CLOSE, maxIter: 40, watch });
  const momentsOf = (fit) => {
    const spread = covariance(fit, shown);
    return shown.map((i, k) => [...messageOf(fit.field, i, unit), fit.joint.mean[i] * unit, spread[k][k] * unit ** 2]);
  };
  return {
    names: shown.map((i) => names[features[i]]),
    beta: null,
    start: [start, 0, 0],
    lams: fits.map((fit) => fit.lam / lam),
    lamNames: fits.map((fit) => [twoDigits(fit.lam / largest), "of the λ at which all are zero"]),
    positive: false,
    penalties: [{ weights: [1], t: [shown.map(() => lam / unit)], k: [shown.map(() => 0)] }],
    messages: packed(fits.flatMap((fit) => shown.flatMap((i) => messageOf(fit.field, i, unit)))),
    means: packed(fits.flatMap((fit) => shown.map((i) => fit.joint.mean[i] * unit))),
    covariances: packed(fits.flatMap((fit) => upper(covariance(fit, shown)).map((value) => value * unit ** 2))),
    taus: [0.5],
    drawn: [false],
    steps: packed(steps.flatMap(momentsOf).flat()),
    deltas: steps.map((fit) => fit.gap),
    lead: shown.indexOf(often[0]),
    pair: often.slice(0, 2).map((i) => shown.indexOf(i)).sort((a, b) => a - b),
    panels: ["ridgeline", "one", ...(shown.length > 1 ? ["pair"] : []), "iteration"],
    about: `${howMany(y.length, "row")}, ${howMany(features.length, "column")} beside the target ${names[target]}${features.length > 10 ? "; the ten that are selected most often" : ""}. A coefficient is the change of ${names[target]} for one standard deviation of its column. Each resample draws each row or not, by a coin.`,
  };
}

// --- the page --------------------------------------------------------------------------------------------------------
const pause = () => new Promise((done) => setTimeout(done));

export function render({ model, el }) {
  const input = h("input", { type: "file", accept: ".csv,.tsv,.txt", "data-key": "file" });
  const choice = h("div", { class: "choices" });
  const says = h("p", { role: "status", "data-key": "own" });
  const form = h("section", { class: "rvx own", "aria-label": "A table of your own" },
    h("label", { class: "choices" }, h("b", {}, "A table of your own:"), input),
    h("p", {}, `Choose a CSV of numbers, or drop it anywhere on this page: at most ${MOST_ROWS} rows and ${MOST_COLUMNS} columns beside the target, with names in line 1. It is computed here, and never leaves this page.`), choice, says);
  const box = h("div");
  let leave = explorer({ model: { get: () => ({ ...model.get("table"), page: true }) }, el: box });
  let turn = 0; // of the table that was chosen last
  function show(table) {
    leave();
    box.replaceChildren();
    leave = explorer({ model: { get: () => table }, el: box });
  }
  async function compute(table, target) {
    const mine = ++turn;
    const begun = performance.now();
    const report = async (what) => {
      if (mine === turn) says.textContent = `Computing: ${what}.`;
      await pause();
      if (mine !== turn) throw new Error("another table");
    };
    try {
      await report("the first penalty");
      show(await explored(table, target, report));
      says.textContent = `Done in ${((performance.now() - begun) / 1000).toFixed(1)} s, in this page. A link cannot hold your table; the pictures below can be saved.`;
    } catch (problem) {
      if (mine === turn) says.textContent = problem.message;
    }
  }
  async function read(file) {
    turn++;
    choice.replaceChildren();
    try {
      if (file.size > MOST_BYTES) throw new Error(`The file has ${(file.size / 1e6).toFixed(1)} MB. This page takes at most ${MOST_ROWS} rows and ${MOST_COLUMNS} columns, and no file above ${MOST_BYTES / 1e6} MB.`);
      const table = readTable(await file.text());
      const chosen = menu("target", "Which column is the target?", ["choose", ...table.names], 0, (k) => { if (k) compute(table, k - 1); });
      choice.append(chosen);
      chosen.querySelector("select").focus();
      says.textContent = `${file.name}: ${howMany(table.columns[0].length, "row")}, ${howMany(table.names.length, "column")}.`;
    } catch (problem) {
      says.textContent = `${file.name}: ${problem.message}`;
    }
  }
  input.addEventListener("change", () => { if (input.files.length) read(input.files[0]); });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) read(event.dataTransfer.files[0]);
  });
  el.append(form, box);
}
export default { render };
