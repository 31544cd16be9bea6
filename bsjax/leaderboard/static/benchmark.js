/* The page of a benchmark: a dot plot and a table of all models, and copying of the BibTeX. */
"use strict";

(function () {
  const { element, named, shown } = bsjax;
  const { chart, dots, table, spreadWords } = bsjaxCharts;

  function copies() {
    const button = document.getElementById("copy"), said = document.getElementById("copied");
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const shownText = document.getElementById("bibtex");
      try {
        await navigator.clipboard.writeText(shownText.textContent);
        said.textContent = "Copied.";
      } catch {
        // A browser may deny local files the clipboard; then the text is selected.
        getSelection().selectAllChildren(shownText);
        said.textContent = "Selected. Press Ctrl+C to copy.";
      }
    });
  }

  /* The models on this benchmark: those with a score in descending order, and the others with their reasons. */
  function rowsOf(leaf) {
    const { models, cells, reasons, intervals, normalHalf } = bsjax.data();
    const rows = models.map((model) => {
      const at = leaf * models.length + model.number;
      const value = cells.score[at], error = cells.error[at], state = cells.state[at];
      const known = !Number.isNaN(cells.low[at]);
      const low = known ? cells.low[at] : value - normalHalf * error, high = known ? cells.high[at] : value + normalHalf * error;
      const words = spreadWords(value, error, cells.low[at], cells.high[at]);
      return {
        model, name: model.identifier, value, error, low, high, known, state, text: `${model.identifier}: ${words}`,
        kind: intervals[cells.interval[at]] ?? "", reason: reasons[cells.reason[at]] ?? "",
      };
    });
    const scored = rows.filter((row) => row.state === bsjax.SCORED).sort((one, other) => other.value - one.value);
    return { scored, others: rows.filter((row) => row.state !== bsjax.SCORED && row.state !== bsjax.MISSING) };
  }

  const link = (model) => element("a", { href: `../models/${model.slug}.html` }, named(model.identifier));

  function models() {
    const place = document.getElementById("scores"), leaf = Number(place.dataset.leaf);
    const { scored, others } = rowsOf(leaf);
    const name = document.querySelector("h1 bdi").textContent;
    const ranks = bsjax.ranks(scored.map((row) => row.value), scored.map(() => bsjax.SCORED));
    const drawn = element("div", { class: "chart-place" });
    const rows = scored.map((row, at) => [
      link(row.model), String(ranks[at]), shown(row.value), row.known ? `${shown(row.low)} to ${shown(row.high)}` : "", row.kind, shown(row.error),
    ]);
    const parts = [];
    if (rows.length)
      parts.push(drawn, table("Models ranked by score", ["Model", "Rank", "Score", "95 % interval", "Kind of interval", "Error"], rows));
    else parts.push(element("p", {}, "No model has a score on this benchmark."));
    if (others.length)
      parts.push(table("Models without a score", ["Model", "State", "Reason"], others.map((row) => [link(row.model), bsjax.STATES[row.state], row.reason])));
    place.replaceWith(...parts);
    if (rows.length)
      chart(drawn, dots([{ name: "score", points: scored }], "score"), { name: "models", label: `Scores of ${scored.length} models on ${name}, with intervals` });
  }

  copies();
  models();
})();
