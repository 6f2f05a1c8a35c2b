// Which of the pages that Sphinx's search finds come first. Sphinx knows whether a word is on a page and whether it is in a
// heading; the entries of the index (topics.txt) are what a page is about.
const stemmer = new Stemmer(), small = new Set(stopwords);
const stems = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_-]+/u).filter((word) => word && !small.has(word)).map((word) => {
  const parts = word.split("-");
  return [...parts.slice(0, -1), stemmer.stemWord(parts.at(-1))].join("-");
});

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
    const of_title = stems(title), words = stems(asked);
    score += 50 * words.filter((word) => of_title.includes(word)).length / words.length + 150 * typed(page, words);
    return score * (/^\d\d_/.test(page) || ENTRIES()[page] ? 1 : 0.6); // chapters, and what the index leads to, before the rest
  },
};

// {page: its entries of the index}
const ENTRIES = () => Search.entries ??= Object.entries(Search._index.indexentries).reduce((pages, [entry, found]) => {
  for (const [number, , main] of found) if (main) (pages[Search._index.docnames[number]] ??= []).push(entry);
  return pages;
}, {});

// How near an entry of a page comes to what was typed: their shares of words, where one has all words of the other.
const typed = (page, words) => Math.max(0, ...(ENTRIES()[page] ?? []).map((entry) => {
  const of_entry = stems(entry), [few, many] = of_entry.length < words.length ? [of_entry, words] : [words, of_entry];
  return few.every((word) => many.includes(word)) ? few.length / many.length : 0;
}));

// Sphinx looks for entries letter by letter, and lists a page again for each; here a page has one place in the list.
const perform = Search._performSearch;
Search._performSearch = (asked, ...terms) => {
  const { docnames, titles, filenames } = Search._index, words = stems(asked);
  const found = perform(asked, ...terms).filter(([, , , , , , kind]) => kind !== "index");
  const pages = new Set(found.filter(([, , anchor]) => !anchor).map(([page]) => page));
  docnames.forEach((page, k) => {
    if (pages.has(page) || typed(page, words) < 0.5) return;
    const entry = [page, titles[k], "", null, 0, filenames[k], "index"];
    entry[4] = Scorer.score(entry);
    found.push(entry);
  });
  return found.sort((one, other) => one[4] - other[4]);
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
  return (part || page.querySelector("[role=main]")).textContent;
};
