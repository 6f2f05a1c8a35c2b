// Films: sliders whose pictures come with the page.

// Frames lie in the order of nested loops over the choices, the last one fastest.
export const entryAt = (choices, picks) => choices.reduce((index, choice, k) => index * choice.values.length + picks[k], 0);

const SVG = "http://www.w3.org/2000/svg";
function node(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
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
  const { screen, show } = film(table);
  stage.append(screen);
  table.choices.forEach(({ name, values }, k) => {
    const row = document.createElement("label"), input = document.createElement("input"), text = document.createElement("span");
    row.style.cssText = "display: flex; gap: 0.8em; align-items: center; margin: 0.2em 0";
    Object.assign(input, { type: "range", min: 0, max: values.length - 1, step: 1, value: picks[k] });
    input.style.width = "min(16em, 45%)";
    input.setAttribute("aria-label", name);
    input.dataset.lmSuppressShortcuts = ""; // in JupyterLab arrow keys move the slider, not the notebook from heading to heading
    const update = () => {
      picks[k] = Number(input.value);
      text.textContent = `${name} = ${values[picks[k]]}`;
      input.setAttribute("aria-valuetext", values[picks[k]]);
      show(picks);
    };
    input.addEventListener("input", update);
    row.append(input, text);
    controls.append(row);
    update();
  });
  el.append(controls, stage);
}
export default { render };
