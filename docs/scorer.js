// Which of the pages that Sphinx's search finds come first. Sphinx knows whether a word is on a page and whether it is in a
// heading; weights.js, which words.py writes, knows how much the page is about it.
var Scorer = {
  // Sphinx's own numbers, which it does without when it finds a Scorer
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,

  score: ([page, title, , description, score, , kind]) => {
    const asked = new URLSearchParams(location.search).get("q").toLowerCase().trim();
    if (kind === "object") { // what is called so comes first, but a method, of which there are many, after the pages
      if (title.toLowerCase().split(".").at(-1) !== asked.replace(/[\s-]+/g, "_")) return 0;
      return /method|property|attribute/.test(description) ? 20 : 200;
    }
    const stemmer = new Stemmer(), small = new Set(stopwords);
    const stems = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_-]+/u).filter((word) => word && !small.has(word)).map((word) => {
      const parts = word.split("-");
      return [...parts.slice(0, -1), stemmer.stemWord(parts.at(-1))].join("-");
    });
    const number = WORDS.pages.indexOf(page), of_title = stems(title), words = stems(asked);
    if (kind === "index") score = 0;
    for (const word of words) {
      const found = WORDS.weights[word] ?? [], place = found.findIndex((value, k) => k % 2 === 0 && value === number);
      if (place >= 0) score += found[place + 1];
      if (of_title.includes(word)) score += 50 / words.length;
    }
    // an entry of the index that was typed, or a part of what was typed
    const share = (entry) => stems(entry).every((word) => words.includes(word)) ? stems(entry).length / words.length : 0;
    score += 150 * Math.max(0, ...(ENTRIES()[page] ?? []).map(share));
    // where things are looked up, were announced once, or are made, after where they are explained
    const after = /^(api|version|bibliography|errata|notation|teaching)/.test(page) || WORDS.workshop.includes(page);
    return score * (after ? 0.6 : 1);
  },
};

// {page: its entries of the index}
const ENTRIES = () => Search.entries ??= Object.entries(Search._index.indexentries).reduce((pages, [entry, found]) => {
  for (const [number, , main] of found) if (main) (pages[Search._index.docnames[number]] ??= []).push(entry);
  return pages;
}, {});

// A page that is found by its text is not listed again for an entry of the index.
const perform = Search._performSearch;
Search._performSearch = (...asked) => {
  const found = perform(...asked), pages = new Set(found.filter(([, , anchor]) => !anchor).map(([page]) => page));
  return found.filter(([page, , , , , , kind]) => kind !== "index" || !pages.has(page));
};

// The lines under a result: what one reads on the page, without the code of its formulas or where it runs elsewhere.
Search.htmlToText = (html, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const part of page.querySelectorAll(".headerlink, .no-search, h1, script, style")) part.remove();
  for (const formula of page.querySelectorAll(".math")) {
    const code = formula.textContent.replace(/\\[()[\]]/g, "");
    formula.textContent = /[\\{]/.test(code) ? "…" : code;
  }
  const part = anchor && page.getElementById(decodeURIComponent(anchor.slice(1)));
  return part?.textContent || page.querySelector("[role=main]").textContent; // an entry of the index has no text
};
