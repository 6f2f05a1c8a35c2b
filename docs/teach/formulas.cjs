// Draw formulas as SVG: a list of [TeX, whether displayed] comes in as JSON, the list of
// pictures goes out. MathJax is the one that the site serves.
const fs = require("fs");
const mathjax = require("../node_modules/mathjax/es5/node-main.js");

async function main() {
  const MathJax = await mathjax.init({
    loader: { load: ["input/tex-full", "output/svg"] },
    svg: { fontCache: "local" },
  });
  const draw = ([tex, display]) =>
    MathJax.startup.adaptor.innerHTML(MathJax.tex2svg(tex, { display }));
  const formulas = JSON.parse(fs.readFileSync(0, "utf8"));
  fs.writeSync(1, JSON.stringify(formulas.map(draw)));
}

main();
