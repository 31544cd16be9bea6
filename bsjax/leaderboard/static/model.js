/* The page of a model: charts of its tables, and links to benchmarks. */
"use strict";

(function () {
  const { element } = bsjax;
  const { chart, dots, HALF } = bsjaxCharts;
  const pages = new Map(bsjaxPages);
  const number = (text) => (text?.trim() ? Number(text) : NaN);

  /* Parse "0.398 to 0.426" or "±0.012" into the ends of the interval of a value. */
  function ends(value, words) {
    const both = words.split(" to ").map(number);
    if (both.length === 2) return both;
    const error = number(words.split("±")[1]);
    return [value - HALF * error, value + HALF * error];
  }

  function link(head) {
    const slug = pages.get(head.textContent);
    if (slug) head.replaceChildren(element("a", { href: `../benchmarks/${slug}.html` }, bsjax.named(head.textContent)));
  }

  function read(row) {
    const [name, score, interval, raw, ceiling] = [...row.cells].map((cell) => cell.textContent.trim());
    const value = number(score);
    const [low, high] = ends(value, interval);
    const [limit, error] = ceiling.split("±").map(number);
    return { name, value, low, high, raw: number(raw), limit, error, text: `${name}: ${score} ${interval}` };
  }

  const rows = [...document.querySelectorAll("#numbers tbody tr")];
  const leaves = rows.filter((row) => !row.classList.contains("a"));
  const points = leaves.filter((row) => row.cells.length === 5).map(read);
  const title = document.querySelector("h1 bdi").textContent;
  if (points.length) {
    // On the scale of the score the ceiling is 1, with its error scaled in proportion.
    const limits = points.map(({ name, limit, error = NaN }) => ({
      name, value: Number.isNaN(limit) ? NaN : 1, low: 1 - (HALF * error) / limit, high: 1 + (HALF * error) / limit,
      text: `${name}: ceiling ${bsjax.shown(limit)}${Number.isNaN(error) ? "" : ` ± ${bsjax.shown(error)}`}, equal to 1 on the scale of the score`,
    }));
    const series = [{ name: "score", points }];
    if (limits.some((limit) => !Number.isNaN(limit.value))) series.push({ name: "ceiling", points: limits });
    chart(document.getElementById("ceilings"), dots(series, "score, relative to the ceiling", { lines: [1], most: 120 }), {
      name: "scores-and-ceilings", label: `Scores of ${title} on ${points.length} benchmarks, with intervals and ceilings`,
    });
  }
  leaves.forEach((row) => link(row.cells[0]));

  for (const profile of document.querySelectorAll(".profile")) {
    const layers = [...profile.querySelectorAll("tbody tr")].map((row) => {
      const [name, score, error] = [...row.cells].map((cell) => cell.textContent.trim());
      const [low, high] = ends(number(score), `±${error}`);
      return { name, value: number(score), low, high, text: `${name}: ${score}${error ? ` ± ${error}` : ""}` };
    });
    const place = element("div", { class: "chart-place" });
    profile.querySelector(".scroll").before(place);
    chart(place, dots([{ name: "score", points: layers }], "score"), {
      name: "layer-profile", label: `Layer profile on ${profile.dataset.name}`,
    });
  }
})();
