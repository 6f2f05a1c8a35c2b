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
    const stemmer = new Stemmer();
    const stems = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_-]+/u).filter((word) => word).map((word) => {
      const parts = word.split("-");
      return [...parts.slice(0, -1), stemmer.stemWord(parts.at(-1))].join("-");
    });
    const number = WORDS.pages.indexOf(page), of_title = stems(title), words = stems(asked);
    for (const word of words) {
      const found = WORDS.weights[word] ?? [], place = found.findIndex((value, k) => k % 2 === 0 && value === number);
      if (place >= 0) score += found[place + 1];
      if (of_title.includes(word)) score += 50 / words.length;
    }
    // where things are looked up, were announced once, or are made, after where they are explained
    const after = /^(api|version|bibliography|errata|notation|teaching)/.test(page) || WORDS.workshop.includes(page);
    return score * (after ? 0.6 : 1);
  },
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
