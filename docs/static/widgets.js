// The widgets of a page, shown without Jupyter: each brings its own JavaScript (anywidget), and its state lies in the page.
// The manager of all kinds of widgets would do it, too, with a few megabytes.
document.addEventListener("DOMContentLoaded", async () => {
  const saved = document.querySelector('script[type="application/vnd.jupyter.widget-state+json"]');
  const models = JSON.parse(saved.textContent).state;
  for (const view of document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')) {
    const values = models[JSON.parse(view.textContent).model_id].state, listeners = {};
    const model = { // as much of anywidget's as there is without a kernel
      get: (name) => values[name],
      set: (name, value) => {
        values[name] = value;
        for (const call of listeners[`change:${name}`] ?? []) call();
      },
      on: (event, call) => { (listeners[event] ??= []).push(call); },
      save_changes: () => {},
    };
    const script = models[values._esm]?.state._esm ?? values._esm; // or the number of the widget that has it
    const addresses = [];
    const addressOf = (text) => {
      addresses.push(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      return addresses.at(-1);
    };
    // a module that it imports from a file lies in the page, too, under the file's name
    const whole = script.replace(/(?<=^import .* from )".*\/(\w+)\.js"/gm, (_, name) => JSON.stringify(addressOf(models[name].state._esm)));
    const { default: widget } = await import(addressOf(whole));
    addresses.forEach((address) => URL.revokeObjectURL(address));
    const el = document.createElement("div");
    el.className = "widget";
    view.after(el);
    await widget.render({ model, el });
    const above = view.previousElementSibling;
    if (above?.matches(".still")) above.classList.add("replaced"); // a picture for paper, and for pages without scripts
  }
});
