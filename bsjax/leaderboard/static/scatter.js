/* Plot of scores against scores: all models on any two nodes of the tree. */
"use strict";

(function () {
  const { element, named, shown } = bsjax;
  const { chart, table, bars, plain, shortened, colour, symbol, INK } = bsjaxCharts;
  const MOST_NAMED = 25;
  const at = (id) => document.getElementById(id);
  const { models, nodes, cells, normalHalf, how, byName } = bsjax.data();
  const averages = bsjax.aggregate(nodes, cells, models.length, normalHalf, how);
  const numbers = new Map(models.map((model) => [model.identifier, model.number]));
  const view = { x: 0, y: 0, mark: -1, errors: true };

  function scoreAt(node, model) {
    const place = node.number * models.length + model, value = averages.score[place], error = averages.error[place];
    const cell = node.leaf * models.length + model;
    if (node.leaf >= 0 && !Number.isNaN(cells.low[cell])) return { value, low: cells.low[cell], high: cells.high[cell] };
    return { value, low: value - normalHalf * error, high: value + normalHalf * error };
  }

  const words = ({ value, low, high }) => (Number.isNaN(low) ? shown(value) : `${shown(value)} [${shown(low)}, ${shown(high)}]`);

  function pearson(one, two) {
    const n = one.length, mean = (values) => values.reduce((sum, value) => sum + value, 0) / n;
    const [a, b] = [mean(one), mean(two)];
    let both = 0, first = 0, second = 0;
    for (let i = 0; i < n; i++) {
      both += (one[i] - a) * (two[i] - b);
      first += (one[i] - a) ** 2;
      second += (two[i] - b) ** 2;
    }
    return Math.max(-1, Math.min(1, both / Math.sqrt(first * second)));
  }

  /* Ranks; equal values share their mean rank. */
  function midranks(values) {
    const order = [...values.keys()].sort((one, two) => values[one] - values[two]), found = new Float64Array(values.length);
    for (let from = 0; from < order.length; ) {
      let to = from;
      while (to < order.length && values[order[to]] === values[order[from]]) to++;
      for (let i = from; i < to; i++) found[order[i]] = (from + to + 1) / 2;
      from = to;
    }
    return found;
  }

  /* A correlation of n pairs with its 95 % interval by Fisher's transform, with a factor for the standard error. */
  function withInterval(r, n, factor) {
    const reach = (normalHalf * factor) / Math.sqrt(n - 3), z = Math.atanh(r);
    return n > 3 && Math.abs(r) < 1 ? { value: r, low: Math.tanh(z - reach), high: Math.tanh(z + reach) } : { value: r, low: NaN, high: NaN };
  }

  function correlations(points) {
    const [x, y] = [points.map((point) => point.x.value), points.map((point) => point.y.value)];
    const r = pearson(x, y), rho = pearson([...midranks(x)], [...midranks(y)]);
    return [["Pearson's r", withInterval(r, points.length, 1)], ["Spearman's ρ", withInterval(rho, points.length, Math.sqrt(1 + rho ** 2 / 2))]];
  }

  function figureOf(points, x, y) {
    const marked = points.filter((point) => point.model.number === view.mark);
    const series = [points.filter((point) => point.model.number !== view.mark), marked];
    const ends = points.flatMap((point) => [point.x.value, point.y.value]);
    const line = [Math.min(...ends), Math.max(...ends)];
    return (theme) => {
      const dots = series.map((some, number) => {
        const of = (axis) => some.map((point) => point[axis].value);
        const error = (axis) => ({
          ...bars(of(axis), some.map((point) => point[axis].low), some.map((point) => point[axis].high)),
          visible: view.errors, color: colour(number, theme),
        });
        return {
          type: "scatter", mode: number || points.length <= MOST_NAMED ? "markers+text" : "markers", x: of("x"), y: of("y"), error_x: error("x"), error_y: error("y"),
          marker: { color: colour(number, theme), symbol: symbol(number), size: number ? 13 : 8, opacity: number ? 1 : 0.8 },
          text: some.map((point) => plain(shortened(point.model.identifier))), textposition: "top center", cliponaxis: false,
          hovertext: some.map((point) => plain(point.text).replace(/\n/g, "<br>")), hoverinfo: "text", name: "",
        };
      });
      const equal = { type: "scatter", mode: "lines", x: line, y: line, line: { color: INK[theme].line, dash: "dot", width: 1.2 }, hoverinfo: "skip" };
      const title = (node) => ({ title: { text: plain(shortened(node.identifier, 60)) }, zeroline: false });
      const turns = series.flatMap((some, curve) => some.map((point, at) => ({ curve, point: at, text: point.text, value: point.x.value })));
      return {
        data: [...dots, equal],
        // Equal ranges of both axes, so that the line of equal scores has 45 degrees.
        layout: { height: 640, xaxis: { ...title(x), constrain: "domain" }, yaxis: { ...title(y), scaleanchor: "x", constrain: "domain" } },
        points: turns.sort((one, two) => one.value - two.value),
      };
    };
  }

  function draw() {
    const [x, y] = [nodes[view.x], nodes[view.y]];
    at("x").value = x.identifier;
    at("y").value = y.identifier;
    at("mark").value = models[view.mark]?.identifier ?? "";
    at("errors").checked = view.errors;
    bsjax.writeView({ x: x.identifier, y: y.identifier, mark: models[view.mark]?.identifier, errors: view.errors ? "" : "0" });
    const points = models.map((model) => ({ model, x: scoreAt(x, model.number), y: scoreAt(y, model.number) }))
      .filter((point) => !Number.isNaN(point.x.value) && !Number.isNaN(point.y.value));
    for (const point of points) point.text = `${point.model.identifier}\n${x.identifier}: ${words(point.x)}\n${y.identifier}: ${words(point.y)}`;
    at("status").textContent = `${points.length} of ${models.length} models have both scores.`;
    for (const id of ["chart", "correlation", "numbers"]) at(id).replaceChildren();
    if (!points.length) return;
    chart(at("chart"), figureOf(points, x, y), {
      name: "score-against-score", label: `Scores of ${points.length} models, ${y.identifier} against ${x.identifier}`,
    });
    const found = points.length > 2 ? correlations(points) : [];
    at("correlation").replaceChildren(found.length
      ? table("Correlation over models", ["Correlation", "Value", "95 % interval", "Models"], found.map(([name, { value, low, high }]) =>
        [name, Number.isNaN(value) ? "undefined: all scores are equal" : shown(value), Number.isNaN(low) ? "" : `${shown(low)} to ${shown(high)}`, String(points.length)]))
      : element("p", {}, "A correlation needs at least three models."));
    const sorted = [...points].sort((one, two) => two.x.value - one.x.value);
    at("numbers").replaceChildren(table("Scores", ["Model", x.identifier, y.identifier, "y minus x"], sorted.map((point) => [
      element("a", { href: `models/${point.model.slug}.html` }, named(point.model.identifier)), words(point.x), words(point.y), shown(point.y.value - point.x.value),
    ])));
  }

  /* Apply a name if it exists; otherwise show a message and keep the view. */
  function choose(id, known, name) {
    const found = known.get(at(id).value);
    if (found !== undefined || (id === "mark" && !at(id).value)) {
      view[id] = found ?? -1;
      draw();
    } else at("status").textContent = `There is no ${name} ${at(id).value}.`;
  }

  function read() {
    const given = bsjax.readView(), leaves = nodes.filter((node) => node.leaf >= 0);
    // Initially, the nodes with the most scores.
    const usual = [...leaves].sort((one, two) => count(two) - count(one)).map((node) => node.number);
    view.x = byName.get(given.x?.[0]) ?? usual[0];
    view.y = byName.get(given.y?.[0]) ?? usual[1] ?? usual[0];
    view.mark = numbers.get(given.mark?.[0]) ?? -1;
    view.errors = given.errors?.[0] !== "0";
    draw();
  }

  const count = (node) => models.filter((model) => cells.state[node.leaf * models.length + model.number] === bsjax.SCORED).length;

  function start() {
    at("nodes").replaceChildren(...nodes.map((node) => element("option", { value: node.identifier })));
    at("models").replaceChildren(...models.map((model) => element("option", { value: model.identifier })));
    for (const id of ["x", "y"]) at(id).addEventListener("change", () => choose(id, byName, "benchmark"));
    at("mark").addEventListener("change", () => choose("mark", numbers, "model"));
    at("errors").addEventListener("change", () => { view.errors = at("errors").checked; draw(); });
    at("swap").addEventListener("click", () => { [view.x, view.y] = [view.y, view.x]; draw(); });
    at("controls").addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", read);
    read();
  }

  start();
})();
