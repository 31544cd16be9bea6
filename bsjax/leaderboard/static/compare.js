/* The page that compares models: scores, differences and their intervals. */
"use strict";

(function () {
  const { element, named, shown } = bsjax;
  const { chart, dots, spreadWords } = bsjaxCharts;
  const MOST_MODELS = 6;
  const at = (id) => document.getElementById(id);
  const { models, nodes, cells, normalHalf, how } = bsjax.data();
  const averages = bsjax.aggregate(nodes, cells, models.length, normalHalf, how);
  const numbers = new Map(models.map((model) => [model.identifier, model.number]));
  const groups = pairsByLeaf();

  /* The view: indices of models, the first of which is the reference; a node, -1 for all; and which rows are shown. */
  const view = { models: [], under: -1, shown: "all", both: false };

  function pairsByLeaf() {
    const found = new Map();
    for (const group of bsjaxPairs.groups) {
      const place = new Map(group.models.map((model, number) => [model, number]));
      if (!found.has(group.leaf)) found.set(group.leaf, []);
      found.get(group.leaf).push({ ...group, place, decoded: null });
    }
    return found;
  }

  /* The paired difference of two models on a benchmark: {difference, low, high, words, ofScores}; null if there is none. */
  function pairedDifference(leaf, model, other) {
    const group = groups.get(leaf)?.find(({ place }) => place.has(model) && place.has(other));
    if (!group) return null;
    group.decoded ??= { values: bsjax.decode(group.values), low: bsjax.decode(group.low), high: bsjax.decode(group.high) };
    const { values, low, high } = group.decoded, n = group.models.length;
    const [one, two] = [group.place.get(model), group.place.get(other)], turned = one > two;
    const [first, second] = turned ? [two, one] : [one, two];
    const pair = first * n - (first * (first + 1)) / 2 + second - first - 1;
    const ends = turned ? { low: -high[pair], high: -low[pair] } : { low: low[pair], high: high[pair] };
    return { difference: values[one] - values[two], ...ends, words: `over ${group.over}`, about: group.words, ofScores: group.ofScores };
  }

  /* The score of a model at a node, with its interval. */
  function scoreAt(node, model) {
    const place = node.number * models.length + model;
    const value = averages.score[place], error = averages.error[place];
    if (node.leaf < 0) return { value, error, low: value - normalHalf * error, high: value + normalHalf * error, known: false };
    const cell = node.leaf * models.length + model, known = !Number.isNaN(cells.low[cell]);
    return {
      value, error, known,
      low: known ? cells.low[cell] : value - normalHalf * error, high: known ? cells.high[cell] : value + normalHalf * error,
    };
  }

  /* The difference of two models at a node, from independent errors. */
  function independentDifference(node, model, other) {
    const [one, two] = [scoreAt(node, model), scoreAt(node, other)];
    const difference = one.value - two.value, reach = normalHalf * Math.hypot(one.error, two.error);
    return { difference, low: difference - reach, high: difference + reach };
  }

  function chosenNodes() {
    const inside = new Set([view.under]);
    return nodes.filter((node) => {
      if (view.under < 0 || inside.has(node.parent)) inside.add(node.number);
      if (!inside.has(node.number)) return false;
      if (view.shown !== "all" && (node.leaf >= 0) !== (view.shown === "benchmarks")) return false;
      const scored = view.models.filter((model) => !Number.isNaN(averages.score[node.number * models.length + model]));
      return view.both ? scored.length === view.models.length : scored.length > 0;
    });
  }

  function words({ difference, low, high }) {
    if (Number.isNaN(difference)) return "";
    const interval = Number.isNaN(low) ? "" : ` [${shown(low)}, ${shown(high)}]`;
    return `${difference > 0 ? "+" : ""}${shown(difference)}${interval}`;
  }

  const differs = ({ low, high }) => low > 0 || high < 0;

  /* The content of the cell of a difference, with a line for each kind. */
  function differenceCell(node, model, reference) {
    const apart = independentDifference(node, model, reference);
    if (Number.isNaN(apart.difference)) return element("td", { class: "none" }, "no score");
    const pair = node.leaf >= 0 ? pairedDifference(node.leaf, model, reference) : null;
    const lines = pair?.ofScores ? [] : [line(apart, Number.isNaN(apart.low) ? "no error estimate" : "independent errors", "")];
    if (pair) lines.push(line(pair, `paired ${pair.words}${pair.ofScores ? "" : ", before normalisation"}`, pair.about));
    return element("td", {}, ...lines);
  }

  function line(of, basis, about) {
    return element("span", { class: differs(of) ? "line differs" : "line" }, words(of), differs(of) ? element("b", {}, " differs") : null,
      element("small", { title: about || false }, ` ${basis}`));
  }

  function nodeName(node) {
    const name = node.leaf >= 0 ? element("a", { href: `benchmarks/${node.slug}.html` }, named(node.identifier)) : named(node.identifier);
    return element("th", { scope: "row", class: `d${Math.min(node.depth, 6)}` }, name);
  }

  function scoreWords(node, model) {
    const { value, error, low, high, known } = scoreAt(node, model);
    return Number.isNaN(value) ? "" : spreadWords(value, error, known ? low : NaN, high);
  }

  function scoreCell(node, model) {
    const written = scoreWords(node, model);
    if (written) return element("td", {}, written);
    const { STATES, MISSING } = bsjax, state = averages.state[node.number * models.length + model];
    const cell = node.leaf * models.length + model;
    const why = node.leaf >= 0 ? STATES[cells.state[cell]] : STATES[state] ?? STATES[MISSING];
    const reason = node.leaf >= 0 ? bsjax.data().reasons[cells.reason[cell]] : "";
    return element("td", { class: "none" }, reason ? `${why}: ${reason}` : why);
  }

  function drawTable(rows) {
    const [reference, ...others] = view.models;
    const head = element("tr", {}, element("th", { scope: "col" }, "Benchmark"),
      ...view.models.map((model) => element("th", { scope: "col" }, element("a", { href: `models/${models[model].slug}.html` }, named(models[model].identifier)))),
      ...others.map((model) => element("th", { scope: "col" }, named(models[model].identifier), " less ", named(models[reference].identifier))));
    const body = rows.map((node) => element("tr", { class: node.leaf < 0 ? "a" : false }, nodeName(node),
      ...view.models.map((model) => scoreCell(node, model)), ...others.map((model) => differenceCell(node, model, reference))));
    at("numbers").replaceChildren(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores and differences" },
      element("table", { class: "plain numbers tree" }, element("caption", {}, "Scores with 95 % intervals or errors, and differences with 95 % intervals."),
        element("thead", {}, head), element("tbody", {}, ...body))));
  }

  function drawChart(rows) {
    const series = view.models.map((model) => ({
      name: models[model].identifier,
      points: rows.map((node) => {
        const { value, low, high } = scoreAt(node, model);
        return { name: node.identifier, value, low, high, text: `${models[model].identifier}, ${node.identifier}: ${scoreWords(node, model)}` };
      }),
    }));
    chart(at("chart"), dots(series, "score", { most: 400 }), {
      name: "comparison", label: `Scores of ${view.models.length} models on ${rows.length} benchmarks and averages, with intervals`,
    });
  }

  function drawControls() {
    at("reference").replaceChildren(...view.models.map((model) => element("option", { value: model }, models[model].identifier)));
    at("under").value = view.under;
    at("shown").value = view.shown;
    at("both").checked = view.both;
    at("chosen").replaceChildren(...view.models.map((model) => element("li", {}, named(models[model].identifier), " ",
      element("button", { type: "button", "aria-label": `Remove ${models[model].identifier}`, click: () => remove(model) }, "×"))));
  }

  function draw() {
    bsjax.writeView({
      model: view.models.map((model) => models[model].identifier), under: nodes[view.under]?.identifier,
      rows: view.shown === "all" ? "" : view.shown, both: view.both ? "1" : "",
    });
    drawControls();
    const rows = view.models.length ? chosenNodes() : [];
    if (!rows.length) {
      at("status").textContent = view.models.length ? "None of these models has a score on these benchmarks." : "Choose two or more models.";
      at("chart").replaceChildren();
      at("numbers").replaceChildren();
      return;
    }
    at("status").textContent = view.models.length > 1
      ? `${view.models.length} models, ${rows.filter((node) => node.leaf >= 0).length} benchmarks.`
      : "One model: add another to see differences.";
    drawChart(rows);
    drawTable(rows);
  }

  function remove(model) {
    view.models = view.models.filter((other) => other !== model);
    draw();
    at("add").focus();
  }

  function add(name) {
    const model = numbers.get(name);
    const why = model === undefined ? `There is no model ${name}.`
      : view.models.includes(model) ? `${name} is already in the comparison.`
        : view.models.length >= MOST_MODELS ? `${MOST_MODELS} models can be compared at a time. Remove one first.` : "";
    if (!why) {
      view.models.push(model);
      at("add").value = "";
      draw();
    } else at("status").textContent = why;
  }

  /* The names of the models with the highest averages of all. */
  function best(count) {
    const scored = models.filter((model) => !Number.isNaN(averages.score[model.number]));
    scored.sort((one, other) => averages.score[other.number] - averages.score[one.number]);
    return scored.slice(0, count).map((model) => model.identifier);
  }

  function read() {
    const given = bsjax.readView();
    const asked = (given.model ?? best(2)).map((name) => numbers.get(name)).filter((model) => model !== undefined);
    view.models = [...new Set(asked)].slice(0, MOST_MODELS);
    view.under = bsjax.data().byName.get(given.under?.[0]) ?? -1;
    view.shown = ["averages", "benchmarks"].includes(given.rows?.[0]) ? given.rows[0] : "all";
    view.both = given.both?.[0] === "1";
    draw();
  }

  function start() {
    at("models").replaceChildren(...models.map((model) => element("option", { value: model.identifier })));
    at("under").replaceChildren(element("option", { value: -1 }, "all"), ...nodes.filter((node) => node.leaf < 0 || node.parent < 0).map((node) =>
      element("option", { value: node.number }, `${"\u2003".repeat(node.depth)}${node.identifier}`)));
    at("controls").addEventListener("submit", (event) => {
      event.preventDefault();
      add(at("add").value);
    });
    at("reference").addEventListener("change", () => {
      const first = Number(at("reference").value);
      view.models = [first, ...view.models.filter((model) => model !== first)];
      draw();
      at("reference").focus();
    });
    at("under").addEventListener("change", () => { view.under = Number(at("under").value); draw(); });
    at("shown").addEventListener("change", () => { view.shown = at("shown").value; draw(); });
    at("both").addEventListener("change", () => { view.both = at("both").checked; draw(); });
    addEventListener("hashchange", read);
    read();
  }

  start();
})();
