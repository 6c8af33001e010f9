/* Scores of search results: a guide whose title is the query or has its words comes first, and an error whose title has
   its message, then the name of the API that the query spells, then names with fewer dots. Modules for developers come
   last. Names of `torch` are names of `tl`. */
const parseQuery = Search._parseQuery;
Search._parseQuery = (query) => parseQuery(query.replace(/\btorch\./g, "tl."));

Scorer.score = (() => {
  const query = (new URLSearchParams(window.location.search).get("q") || "").trim();
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const stem = (word) => new Stemmer().stemWord(word);
  const PREFERRED = ["tl.nn.Module.", "tl.Tensor.", "tl.nn.functional.", "tl.nn.", "tl.optim.", "tl.utils.data.", "tl."];

  /* The share of the query's words that a title has. */
  const share = (title) => {
    const parts = new Set(title.toLowerCase().split(/\W+/).map(stem));
    return words.length ? words.filter((word) => parts.has(stem(word))).length / words.length : 0;
  };

  /* How well a query spells the name of an object. */
  const spelling = (title) => {
    const last = title.split(".").at(-1);
    const place = PREFERRED.findIndex((prefix) => title.startsWith(prefix) && !title.slice(prefix.length).includes("."));
    const lower = last.toLowerCase();
    let score = (place < 0 ? 0 : PREFERRED.length - place) - title.split(".").length;
    if (words.includes(lower) || lower.replaceAll("_", " ") === words.join(" ")) score += 60 / words.length;
    if (title.replace("tl.", "") === query.replace(/^(tl|torch)\./, "")) score += 80;
    return last === query ? score + 10 : score; // `Conv2d` is not `conv2d`
  };

  return ([page, title, anchor, description, score, file, kind]) => {
    if (/^reference\/generated\/(tl_|package-)/.test(page)) return score - 40;
    if (kind === "object") return score + spelling(title);
    if (page.startsWith("design/")) return score - 20;
    const part = share(title);
    if (page.startsWith("errors/")) return score + (words.length > 2 && part > 0.8 ? 60 : 10 * part);
    const guide = /^(guide|tutorials|install|quickstart|benchmarks)/.test(page);
    const same = guide && part === 1 && title.split(/\W+/).filter(Boolean).length === words.length;
    return score + (same ? 100 : guide ? 12 + 40 * part : 10 * part);
  };
})();
