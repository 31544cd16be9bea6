/* Scores over time of a benchmark (by version), an average or a model, with a line per model and the best so far. */
"use strict";

(function () {
  const { element, named, shown } = bsjax;
  const { chart, table, plain, shortened, colour, symbol, INK } = bsjaxCharts;
  const at = (id) => document.getElementById(id);
  const { models, leaves, nodes, cells, normalHalf, how, byName } = bsjax.data();
  const MOST_DAYS = 60, MOST_NAMED = 12;
  const modelNumbers = new Map(models.map((model) => [model.identifier, model.number]));
  const started = bsjax.decode(bsjaxHistory.started);
  const earlier = Object.fromEntries(Object.entries(bsjaxHistory.earlier).map(([name, column]) => [name, bsjax.decode(column)]));
  const change = bsjax.decode(bsjaxHistory.change), whyOf = (number) => bsjaxHistory.changes[change[number]];
  const view = { benchmark: -1, model: -1 };  // indices of a node and of a model; -1 is any

  /* The selected scores, the oldest first; a leaf or model of -1 is any. */
  function scores(leaf, model) {
    const found = [];
    const wanted = (one, other) => (leaf < 0 || one === leaf) && (model < 0 || other === model);
    for (const node of leaves)
      for (const { number } of models) {
        const cell = node.leaf * models.length + number;
        if (wanted(node.leaf, number) && cells.state[cell] === bsjax.SCORED)
          found.push({ node, model: models[number], version: node.version ?? 0, started: started[cell], score: cells.score[cell], last: true, why: whyOf(cell) });
      }
    for (let i = 0; i < earlier.leaf.length; i++)
      if (wanted(earlier.leaf[i], earlier.model[i]))
        found.push({
          node: leaves[earlier.leaf[i]], model: models[earlier.model[i]], version: earlier.version[i],
          started: earlier.started[i], score: earlier.score[i], last: false, why: whyOf(started.length + i),
        });
    return found.sort((one, other) => one.started - other.started);
  }

  const leavesBelow = ({ leaf, children }) => (leaf >= 0 ? [leaf] : children.flatMap((child) => leavesBelow(nodes[child])));

  /* The average of each model at the end of each day with new scores below it, if it has changed. */
  function averagesOf(node, model) {
    const below = leavesBelow(node).flatMap((leaf) => scores(leaf, model)).filter((row) => row.started);
    const dayOf = (row) => when(row).slice(0, 10), found = [], before = new Map();
    const days = [...new Set(below.map(dayOf))].sort().slice(-MOST_DAYS);
    for (const day of days) {
      const { score } = bsjax.aggregate(nodes, bsjax.cellsAt(day), models.length, normalHalf, how);
      const today = below.filter((row) => dayOf(row) === day);
      for (const one of model < 0 ? models : [models[model]]) {
        const value = score[node.number * models.length + one.number], earlier = before.get(one);
        if (Number.isNaN(value) || value === earlier?.score) continue;
        const own = today.filter((row) => row.model === one);
        // Without new scores, a model has lost scores on versions that are no longer the latest.
        const why = own.length ? [...new Set(own.filter((row) => row.why).map((row) => `${row.node.identifier}: ${row.why}`))].join("; ") : "new version of a benchmark";
        if (earlier) earlier.last = false;
        before.set(one, { node, model: one, version: null, started: Date.parse(`${day}T23:59Z`) / 1000, score: value, last: true, why });
        found.push(before.get(one));
      }
    }
    return found;
  }

  const when = ({ started }) => (started ? new Date(started * 1000).toISOString().slice(0, 16).replace("T", " ") : "not known");
  const versionWords = ({ version }) => (version ? `version ${version}` : version === null ? "averages" : "version not known");
  const textOf = (row) => `${row.model.identifier} on ${row.node.identifier}, ${versionWords(row)}: ${shown(row.score)}, ${when(row)} UTC${row.why && `; changed: ${row.why}`}`;

  /* The best score so far, as a line with a step at each improvement. */
  function bestSoFar(rows) {
    const x = [], y = [];
    let best = -Infinity;
    for (const row of rows) {
      if (row.score <= best) continue;
      best = row.score;
      x.push(row.started * 1000);
      y.push(best);
    }
    const last = rows.at(-1).started * 1000;
    if (x.at(-1) !== last) { x.push(last); y.push(best); }
    return { x, y };
  }

  /* Group scores into series: by version for a benchmark, by benchmark for a single model. */
  function seriesOf(rows) {
    const found = new Map();
    for (const row of rows) {
      const name = view.benchmark >= 0 ? versionWords(row) : row.node.identifier;
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(row);
    }
    return [...found].sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true }));
  }

  /* A thin line through the scores of each model, with its name at the end if there are few, and rings around scores with
   * a known change. */
  function ofModels(rows) {
    const lines = { x: [], y: [] }, names = { x: [], y: [], text: [] }, changed = rows.filter((row) => row.why);
    const all = [...new Set(rows.map((row) => row.model))];
    for (const model of all) {
      const own = rows.filter((row) => row.model === model);
      lines.x.push(...own.map((row) => row.started * 1000), null);
      lines.y.push(...own.map((row) => row.score), null);
      names.x.push(own.at(-1).started * 1000);
      names.y.push(own.at(-1).score);
      names.text.push(`${plain(shortened(model.identifier, 24))}<br> `);
    }
    return (theme) => [
      { type: "scatter", mode: "lines", ...lines, name: "each model", line: { color: INK[theme].line, width: 1 }, opacity: 0.6, hoverinfo: "skip" },
      { type: "scatter", mode: "markers", x: changed.map((row) => row.started * 1000), y: changed.map((row) => row.score), name: "known change",
        marker: { symbol: "circle-open", size: 14, color: INK[theme].text }, hoverinfo: "skip" },
      ...(all.length > MOST_NAMED ? [] : [{
        type: "scatter", mode: "text", ...names, textposition: "top center", textfont: { size: 11 }, showlegend: false, cliponaxis: false, hoverinfo: "skip",
      }]),
    ];
  }

  function figureOf(rows) {
    const series = seriesOf(rows), lines = view.benchmark >= 0, more = lines ? ofModels(rows) : () => [];
    return (theme) => {
      const data = series.map(([name, some], number) => ({
        type: "scatter", mode: lines ? "markers" : "lines+markers", name: plain(shortened(name)),
        x: some.map((row) => row.started * 1000), y: some.map((row) => row.score),
        marker: { color: colour(number, theme), symbol: symbol(number), size: 8 }, line: { color: colour(number, theme), width: 1 },
        hovertext: some.map((row) => plain(textOf(row))), hoverinfo: "text",
      }));
      const best = lines ? series.map(([name, some], number) => ({
        type: "scatter", mode: "lines", ...bestSoFar(some), name: plain(`best so far, ${name}`),
        line: { shape: "hv", color: colour(number, theme), width: 2 }, hoverinfo: "skip",
      })) : [];
      const points = series.flatMap(([, some], curve) => some.map((row, point) => ({ curve, point, text: textOf(row), started: row.started })));
      return {
        data: [...data, ...best, ...more(theme)], points: points.sort((one, other) => one.started - other.started),
        layout: { height: 460, showlegend: series.length + best.length < 16, xaxis: { type: "date", title: { text: "begun (UTC)" } }, yaxis: { title: { text: "score" }, zeroline: false } },
      };
    };
  }

  function draw() {
    const node = nodes[view.benchmark], isAverage = node && node.leaf < 0;
    at("benchmark").value = node?.identifier ?? "";
    at("model").value = models[view.model]?.identifier ?? "";
    bsjax.writeView({ benchmark: node?.identifier, model: models[view.model]?.identifier });
    const rows = isAverage ? averagesOf(node, view.model) : scores(node?.leaf ?? -1, view.model), dated = rows.filter((row) => row.started);
    for (const id of ["chart", "numbers"]) at(id).replaceChildren();
    const again = rows.filter((row) => !row.last).length;
    at("status").textContent = `${rows.length} ${rows.length === 1 ? "score" : "scores"}, ${again} of them superseded by later scores.${isAverage ? ` Averages are shown for the end of each of the last ${MOST_DAYS} days on which a score below them was started.` : ""}`;
    if (dated.length) chart(at("chart"), figureOf(dated), { name: "history", label: `${dated.length} scores over time` });
    if (!rows.length) return;
    const all = element("details", {}, element("summary", {}, `All ${rows.length} scores`),
      table("Scores, newest first", ["Started (UTC)", "Model", "Benchmark", "Version", "Score", "What changed", "Shown in the table"],
        [...rows].reverse().map((row) => [
          when(row), element("a", { href: `models/${row.model.slug}.html` }, named(row.model.identifier)),
          element("a", { href: `benchmarks/${row.node.slug}.html` }, named(row.node.identifier)), row.version ? String(row.version) : "", shown(row.score), named(row.why), row.last ? "yes" : "no",
        ])));
    at("numbers").replaceChildren(
      table("Latest scores, newest first", ["Model", "Benchmark", "Score", "Started (UTC)", "Changes of the score"], [...latestOf(rows).values()].reverse().map((own) => {
        const { model, node, score } = own.at(-1);
        return [
          element("a", { href: `models/${model.slug}.html` }, named(model.identifier)), element("a", { href: `benchmarks/${node.slug}.html` }, named(node.identifier)),
          shown(score), when(own.at(-1)), changesOf(own),
        ];
      })), all);
  }

  /* The scores of each model on each benchmark, the oldest first; pairs in the order of their latest scores. */
  function latestOf(rows) {
    const found = new Map();
    for (const row of rows) {
      const pair = `${row.model.number} ${row.node.number}`, own = found.get(pair) ?? [];
      found.delete(pair);
      found.set(pair, [...own, row]);
    }
    return found;
  }

  /* What a pair's scores were before, and why they changed, behind a line with their number; empty if there is one score. */
  function changesOf(own) {
    if (own.length < 2) return "";
    const items = own.slice(1).map((row, number) =>
      element("li", {}, `${when(row)}: ${shown(own[number].score)} to ${shown(row.score)}`, row.why && element("span", {}, ", ", named(row.why))));
    return element("details", {}, element("summary", {}, `${items.length} ${items.length === 1 ? "change" : "changes"}`), element("ul", {}, ...items.reverse()));
  }

  /* Apply names that exist; at least one of both is required. */
  function choose() {
    const [benchmark, model] = [at("benchmark").value, at("model").value];
    const why = benchmark && !byName.has(benchmark) ? `There is no benchmark ${benchmark}.`
      : model && !modelNumbers.has(model) ? `There is no model ${model}.` : benchmark || model ? "" : "Choose a benchmark or a model.";
    at("status").textContent = why;
    if (why) return;
    view.benchmark = byName.get(benchmark) ?? -1;
    view.model = modelNumbers.get(model) ?? -1;
    draw();
  }

  /* The benchmark with the most scores, which is shown initially. */
  function busiest() {
    const counts = new Int32Array(leaves.length);
    for (let cell = 0; cell < cells.state.length; cell++) if (cells.state[cell] === bsjax.SCORED) counts[Math.floor(cell / models.length)]++;
    for (const leaf of earlier.leaf) counts[leaf]++;
    return leaves[counts.indexOf(Math.max(...counts))].number;
  }

  function read() {
    const given = bsjax.readView();
    view.benchmark = byName.get(given.benchmark?.[0]) ?? -1;
    view.model = modelNumbers.get(given.model?.[0]) ?? -1;
    if (view.benchmark < 0 && view.model < 0) view.benchmark = busiest();
    draw();
  }

  at("benchmarks").replaceChildren(...nodes.map((node) => element("option", { value: node.identifier })));
  at("models").replaceChildren(...models.map((model) => element("option", { value: model.identifier })));
  for (const id of ["benchmark", "model"]) at(id).addEventListener("change", choose);
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", read);
  read();
})();
