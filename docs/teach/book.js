// Take the article of a page of the site for the book: what folds is opened or left out,
// names and links are made those of one page. Returns [text, style of the formulas].
async ({ stem, pages, home }) => {
  await window.MathJax?.startup?.promise;
  const article = document.querySelector("article");
  const away = ["script", "iframe", "button", "mjx-assistive-mml", ".headerlink", ".download",
    ".needs-python", ".widget", ".tag_hide-cell", ".tag_hide-input .cell_input",
    "details.above-input", "[class*=explorer]"];
  article.querySelectorAll(away.join()).forEach(node => node.remove());
  article.querySelectorAll("details").forEach(node => { node.open = true; });
  for (const image of article.querySelectorAll("img")) {
    image.loading = "eager";
    image.setAttribute("src", image.src);
  }
  const inside = name => `${stem}--${name}`;
  for (const node of article.querySelectorAll("[id]")) node.id = inside(node.id);
  for (const node of article.querySelectorAll("use")) {
    const name = node.getAttribute("xlink:href") || node.getAttribute("href");
    node.setAttribute("xlink:href", `#${inside(name.slice(1))}`);
  }
  for (const link of article.querySelectorAll("a[href]")) {
    const href = link.getAttribute("href");
    if (/^[a-z]+:/.test(href)) continue;
    const [file, name] = href.split("#"), page = file.replace(".html", "") || stem;
    if (pages.includes(page)) link.setAttribute("href", `#${name ? `${page}--${name}` : page}`);
    else link.setAttribute("href", `${home}/${href}`);
  }
  const style = document.querySelector("#MJX-SVG-styles")?.textContent || "";
  return [`<article id="${stem}">${article.innerHTML}</article>`, style];
}
