/* The view of the table: the choices stored in the address, and the derived columns, scores and rows. */
"use strict";

(function () {
  const { data, cellsAt, aggregate, rankBounds, leafWeights, ranksOverBenchmarks, readView, writeView, MISSING, SCORED } = bsjax;
  const FACETS = ["region", "modality", "species", "family"];
  const CELLS = ["score", "error", "interval"];
  const HOWS = ["available", "website"];

  /* The initial choices. */
  function initial() {
    return {
      model: "", modelFamily: "", benchmark: "", facets: {}, publicOnly: false, completeOnly: false, withFailed: false,
      how: data().how, cells: "score", until: "",
      // The children of "open" nodes are shown; "override" shows or hides single columns regardless.
      open: openAtFirst(),
      override: new Map(), weights: new Map(), sort: 0, byName: false, ascending: false,
    };
  }

  /* Initially, averages down to the regions are shown, but not their benchmarks: roots and averages that consist only of
   * averages are open. */
  function openAtFirst() {
    const { nodes } = data(), ofAverages = (node) => node.depth === 1 && node.children.length && node.children.every((child) => nodes[child].leaf < 0);
    return new Set(nodes.filter((node) => node.parent < 0 || ofAverages(node)).map((node) => node.number));
  }

  /* Read the choices from the address; unknown names and invalid numbers are ignored. */
  function read() {
    const view = initial(), given = readView(), { byName } = data();
    const one = (name) => given[name]?.[0] ?? "";
    const numbers = (name) => (given[name] ?? []).map((each) => byName.get(each)).filter((each) => each !== undefined);
    Object.assign(view, {
      model: one("model"), modelFamily: one("model-family"), benchmark: one("benchmark"),
      publicOnly: one("public") === "1", completeOnly: one("complete") === "1", withFailed: one("failed") === "1",
      byName: one("sort-by") === "name", ascending: one("order") === "up",
    });
    for (const facet of FACETS) if (one(facet)) view.facets[facet] = one(facet);
    if (HOWS.includes(one("how"))) view.how = one("how");
    if (!Number.isNaN(Date.parse(one("until")))) view.until = one("until");
    if (CELLS.includes(one("cells"))) view.cells = one("cells");
    for (const number of numbers("open")) view.open.add(number);
    for (const number of numbers("shut")) view.open.delete(number);
    for (const number of numbers("show")) view.override.set(number, true);
    for (const number of numbers("hide")) view.override.set(number, false);
    for (const text of given.weight ?? []) {
      const at = text.indexOf("*"), number = byName.get(text.slice(at + 1)), weight = weightOf(text.slice(0, at));
      if (number !== undefined && weight !== null) view.weights.set(number, weight);
    }
    view.sort = numbers("sort")[0] ?? 0;
    return view;
  }

  /* Parse a weight, which is finite and at least 0; null if it is invalid. */
  function weightOf(text) {
    const weight = Number(text);
    return text.trim() !== "" && Number.isFinite(weight) && weight >= 0 ? weight : null;
  }

  function write(view) {
    const { nodes } = data(), name = (number) => nodes[number].identifier, first = openAtFirst();
    const overridden = (shown) => [...view.override].filter(([, is]) => is === shown).map(([number]) => name(number));
    writeView({
      model: view.model, "model-family": view.modelFamily, benchmark: view.benchmark, ...view.facets,
      public: view.publicOnly ? "1" : "", complete: view.completeOnly ? "1" : "", failed: view.withFailed ? "1" : "",
      how: view.how === data().how ? "" : view.how, cells: view.cells === "score" ? "" : view.cells, until: view.until,
      open: [...view.open].filter((number) => !first.has(number)).map(name),
      shut: [...first].filter((number) => !view.open.has(number)).map(name),
      show: overridden(true), hide: overridden(false),
      weight: [...view.weights].map(([number, weight]) => `${weight}*${name(number)}`),
      sort: view.sort === 0 ? "" : name(view.sort), "sort-by": view.byName ? "name" : "", order: view.ascending ? "up" : "",
    });
  }

  const has = (text, wanted) => text.toLowerCase().includes(wanted.toLowerCase());

  /* Whether a benchmark matches the filters; only these are averaged. */
  function isChosen(leaf, view) {
    if (view.publicOnly && leaf.public !== true) return false;
    if (FACETS.some((facet) => view.facets[facet] && (leaf[facet] ?? "") !== view.facets[facet])) return false;
    return !view.benchmark || has(leaf.identifier, view.benchmark);
  }

  let last = { key: null };

  /* The scores of all nodes for the current choices, recomputed only if a relevant choice has changed. */
  function scores(view) {
    const { nodes, leaves, models, normalHalf } = data();
    const included = new Set(leaves.filter((leaf) => isChosen(leaf, view)).map((leaf) => leaf.number));
    const key = JSON.stringify([view.how, view.until, [...view.weights], leaves.length === included.size ? 0 : [...included]]);
    if (last.key !== key)
      last = { key, found: aggregate(nodes, cellsAt(view.until), models.length, normalHalf, view.how, view.weights, included) };
    return last.found;
  }

  /* Whether a node is shown as a column: all its ancestors are open, or it was chosen explicitly. */
  function isColumn(number, view) {
    return view.override.has(number) ? view.override.get(number) : isOpenUpwards(number, view);
  }

  function isOpenUpwards(number, view) {
    const { parent } = data().nodes[number];
    return parent < 0 || (view.open.has(parent) && isOpenUpwards(parent, view));
  }

  function columns(view, found) {
    return data().nodes.filter((node) => found.kept[node.number] && isColumn(node.number, view));
  }

  /* Open or close a node, and reset explicit choices of columns below it. */
  function toggle(view, number) {
    if (view.open.has(number)) view.open.delete(number);
    else view.open.add(number);
    const below = [...data().nodes[number].children];
    while (below.length) {
      const child = below.pop();
      view.override.delete(child);
      below.push(...data().nodes[child].children);
    }
  }

  /* Show or hide a column. */
  function choose(view, number, shown) {
    view.override.delete(number);
    if (isColumn(number, view) !== shown) view.override.set(number, shown);
  }

  const collator = new Intl.Collator("en", { numeric: true });
  let alphabet = null;

  /* The position of each model in alphabetical order. */
  function namePlaces() {
    if (!alphabet) {
      const { models } = data();
      alphabet = new Int32Array(models.length);
      [...models.keys()]
        .sort((one, other) => collator.compare(models[one].identifier, models[other].identifier) || one - other)
        .forEach((model, place) => (alphabet[model] = place));
    }
    return alphabet;
  }

  /* The node that determines ranks: the last sort column, if it is still averaged. */
  function ranked(view, found) {
    return found.kept[view.sort] ? view.sort : Math.max(0, found.kept.indexOf(1));
  }

  function part(found, name, number) {
    const n = data().models.length;
    return found[name].subarray(number * n, (number + 1) * n);
  }

  /* Ranks and their bounds, {rank, best, worst, tied}: from the errors for a benchmark, by bootstrap over benchmarks for
   * an average. The bootstrap is slow for many models; it yields between draws. */
  function* boundsInSteps(view, found) {
    const number = ranked(view, found), { nodes, models, normalHalf } = data();
    const [score, error, state] = ["score", "error", "state"].map((name) => part(found, name, number));
    const bounds = { ...rankBounds(score, error, state, normalHalf), tied: new Uint8Array(models.length) };
    if (nodes[number].leaf >= 0) return bounds;
    if (last.intervals?.number !== number) {
      const made = yield* ranksOverBenchmarks(leafWeights(nodes, found, models.length, number, view.how, view.weights), models.length, score);
      last.intervals = { number, ...made };
    }
    const { best, worst, tied } = last.intervals;
    return { ...bounds, best: best.map((rank, model) => rank || bounds.best[model]), worst: worst.map((rank, model) => rank || bounds.worst[model]), tied };
  }

  /* Ranks without bounds. */
  function placed(view, found) {
    const number = ranked(view, found), none = new Int32Array(data().models.length);
    return { rank: bsjax.ranks(part(found, "score", number), part(found, "state", number)), best: none, worst: none, tied: none };
  }

  /* The same without yielding. */
  function bounds(view, found) {
    const steps = boundsInSteps(view, found);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  }

  /* Whether a model has a score on every included benchmark. */
  function isComplete(found, model) {
    const { nodes, models } = data();
    return nodes.every(
      (node) => node.parent >= 0 || !found.kept[node.number] || found.nThere[node.number * models.length + model] === found.nLeaves[node.number],
    );
  }

  /* Whether a model has a score on any benchmark, regardless of filters; the others have only failures. */
  function hasScore(model, view) {
    const { leaves, models } = data(), cells = cellsAt(view.until);
    return leaves.some((leaf) => cells.state[leaf.leaf * models.length + model] === SCORED);
  }

  /* The models shown, in order. */
  function rows(view, found) {
    const { models } = data(), places = namePlaces();
    const shown = models.filter(
      (model) =>
        (!view.model || has(model.identifier, view.model)) &&
        (!view.modelFamily || model.family === view.modelFamily) &&
        (view.withFailed || hasScore(model.number, view)) &&
        (!view.completeOnly || isComplete(found, model.number)),
    );
    const way = view.ascending ? 1 : -1;
    if (view.byName) return shown.sort((one, other) => -way * (places[one.number] - places[other.number]));
    const number = ranked(view, found), score = part(found, "score", number), state = part(found, "state", number);
    // Models without a score are last in either order, those that were tried first.
    const kind = (model) => (state[model] === SCORED ? 0 : state[model] === MISSING ? 2 : 1);
    return shown.sort(
      ({ number: one }, { number: other }) =>
        kind(one) - kind(other) || (kind(one) ? 0 : way * (score[one] - score[other])) || places[one] - places[other],
    );
  }

  /* The ends and the kind of the 95 % interval of a cell; null if unknown. */
  function interval(node, model, found, view) {
    const { models, intervals, normalHalf } = data(), cells = cellsAt(view.until);
    const at = node.number * models.length + model, cell = node.leaf * models.length + model;
    if (node.leaf >= 0 && !Number.isNaN(cells.low[cell]))
      return { low: cells.low[cell], high: cells.high[cell], words: intervals[cells.interval[cell]] };
    if (Number.isNaN(found.error[at])) return null;
    const half = normalHalf * found.error[at];
    return { low: found.score[at] - half, high: found.score[at] + half, words: "normal approximation, from the error" };
  }

  /* The view as CSV, with full precision; text is escaped so that spreadsheets do not evaluate it as formulas. */
  function csv(view, found, shownRows, shownColumns) {
    const { models } = data(), { rank, best, worst } = bounds(view, found);
    const more = { score: [], error: ["error"], interval: ["error", "low", "high"] }[view.cells];
    const heads = shownColumns.flatMap((node) => [node.identifier, ...more.map((name) => `${node.identifier} ${name}`)]);
    const lines = [["model", "family", "rank", "best rank", "worst rank", ...heads].map(text)];
    for (const { number, identifier, family } of shownRows) {
      const placed = [rank, best, worst].map((of) => of[number] || "");
      const numbers = shownColumns.flatMap((node) => {
        const at = node.number * models.length + number;
        if (found.state[at] !== SCORED) return ["", ...more.map(() => "")];
        const ends = interval(node, number, found, view);
        const known = { error: found.error[at], low: ends?.low ?? NaN, high: ends?.high ?? NaN };
        return [found.score[at], ...more.map((name) => known[name])].map((value) => (Number.isNaN(value) ? "" : String(value)));
      });
      lines.push([text(identifier), text(family), ...placed, ...numbers]);
    }
    return lines.map((line) => line.join(",")).join("\r\n") + "\r\n";
  }

  function text(value) {
    const safe = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) || safe !== value ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  bsjax.view = {
    FACETS, initial, read, write, weightOf, scores, columns, isColumn, toggle, choose, ranked, bounds, boundsInSteps, placed, rows, interval, csv,
  };
})();
