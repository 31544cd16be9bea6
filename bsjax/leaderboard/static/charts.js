/* Charts drawn by Plotly: light and dark themes, colour-blind safe, with keyboard navigation and SVG export. */
"use strict";

(function () {
  // The colours of Okabe and Ito, those with the highest contrast first.
  const COLOURS = {
    light: ["#0072b2", "#d55e00", "#007a5a", "#a3457e", "#4d4d4d", "#8a6100"],
    dark: ["#56b4e9", "#e69f00", "#2bc89b", "#e39ac4", "#d0d0d0", "#f0e442"],
  };
  const SYMBOLS = ["circle", "diamond", "square", "triangle-up", "cross", "star"];
  const INK = {
    light: { text: "#1b1f24", grid: "#dfe3e8", line: "#5c6670", paper: "#ffffff" },
    dark: { text: "#e6e9ed", grid: "#343b44", line: "#a0abb6", paper: "#14171a" },
  };
  const LONGEST_NAME = 40, LONGEST_IN_LEGEND = 24;
  // On a phone, names are above their points.
  const NARROW = matchMedia("(max-width: 40rem)");
  // Half-width of the 95 % interval of a normal distribution, in standard deviations.
  const HALF = 1.959963984540054;

  /* Escape text for Plotly, and isolate its text direction. */
  function plain(text) {
    const escaped = String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    return `\u2068${escaped}\u2069`;
  }

  /* Shorten a long name in its middle, without splitting surrogate pairs. */
  function shortened(text, longest = LONGEST_NAME) {
    const characters = [...text];
    if (characters.length <= longest) return text;
    const head = Math.ceil((longest - 1) / 2), tail = longest - 1 - head;
    return `${characters.slice(0, head).join("")}…${characters.slice(-tail).join("")}`;
  }

  const label = (text) => plain(shortened(text));

  /* The colour of a series in a theme. */
  const colour = (number, theme) => COLOURS[theme][number % COLOURS[theme].length];
  const symbol = (number) => SYMBOLS[number % SYMBOLS.length];

  /* Error bars from the ends of intervals; NaN gives no bar. */
  function bars(values, low, high) {
    const reach = (one, other) => Array.from(one, (value, at) => (Number.isNaN(value - other[at]) ? 0 : value - other[at]));
    return { type: "data", symmetric: false, array: reach(high, values), arrayminus: reach(values, low), thickness: 1.2, width: 0 };
  }

  function layout(theme, own) {
    const ink = INK[theme];
    const axis = { gridcolor: ink.grid, linecolor: ink.line, zerolinecolor: ink.grid, automargin: true, tickcolor: ink.line };
    return {
      paper_bgcolor: ink.paper, plot_bgcolor: ink.paper,
      font: { color: ink.text, size: 13, family: "system-ui, sans-serif" },
      margin: { l: 50, r: 16, t: 16, b: 50 }, hovermode: "closest", dragmode: false, showlegend: false,
      hoverlabel: { bgcolor: ink.paper, bordercolor: ink.line, font: { color: ink.text }, align: "left", namelength: -1 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      ...own,
      xaxis: { ...axis, ...own.xaxis }, yaxis: { ...axis, ...own.yaxis },
    };
  }

  /* Draw a chart into an element, and redraw it when the theme changes.
   *
   * figure: theme -> {data, layout, points}; points: the stops of the arrow keys, each {curve, point, text}.
   * what: {name: file name of the SVG, label: description for screen readers}.
   */
  function chart(place, figure, what) {
    const drawn = bsjax.element("div", {
      class: "chart", tabindex: "0", role: "application", "aria-roledescription": "chart",
      "aria-label": `${what.label}. Arrow keys move between points. The table below has the same numbers.`,
    });
    const said = bsjax.element("p", { class: "hidden", role: "status" });
    const save = bsjax.element("button", { type: "button", class: "save" }, "Save as SVG");
    place.replaceChildren(bsjax.element("div", { class: "chart-frame" }, drawn), bsjax.element("p", { class: "chart-tools" }, save), said);
    let current = null, at = -1;

    const draw = () => {
      if (!drawn.isConnected) {
        // The chart was removed or replaced.
        document.removeEventListener("bsjax:theme", draw);
        NARROW.removeEventListener("change", draw);
        return;
      }
      current = figure(bsjax.theme());
      at = -1;
      said.textContent = "";
      Plotly.react(drawn, current.data, layout(bsjax.theme(), current.layout), { displayModeBar: false, responsive: true });
    };

    drawn.addEventListener("keydown", (event) => {
      const points = current.points ?? [];
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") {
        Plotly.Fx.unhover(drawn);
        said.textContent = "";
        return;
      }
      const to = event.key === "Home" ? 0 : event.key === "End" ? points.length - 1 : step ? at + step : -1;
      if (to < 0 || to >= points.length) return;
      event.preventDefault();
      at = to;
      const point = points[at];
      Plotly.Fx.hover(drawn, [{ curveNumber: point.curve, pointNumber: point.point }]);
      said.textContent = point.text;
    });

    save.addEventListener("click", async () => {
      // Always in the light theme, for print, and in the current size.
      const light = figure("light");
      const { width, height } = drawn.getBoundingClientRect();
      const address = await Plotly.toImage(
        { data: light.data, layout: layout("light", light.layout) },
        { format: "svg", width: Math.round(width), height: Math.round(height) },
      );
      bsjax.element("a", { href: address, download: `${what.name}.svg` }).click();
    });

    document.addEventListener("bsjax:theme", draw);
    NARROW.addEventListener("change", draw);
    draw();
  }

  /* A dot plot with intervals: one row per name, or, for many names, by rank without names.
   *
   * series: [{name, points: [{name, value, low, high, text}]}], all with the same names. axis: title of the value axis.
   */
  function dots(series, axis, { most = 60, lines = [] } = {}) {
    const names = series[0].points.map((point) => point.name), n = names.length, many = n > most;
    return (theme) => {
      const above = NARROW.matches && !many;
      const data = series.map((one, number) => {
        const values = one.points.map((point) => point.value), places = one.points.map((_, at) => at + 1);
        const spread = bars(values, one.points.map((point) => point.low), one.points.map((point) => point.high));
        const dot = { color: colour(one.colour ?? number, theme), symbol: symbol(one.colour ?? number), size: many ? 5 : 9 };
        const shift = (number - (series.length - 1) / 2) * Math.min(0.18, (above ? 0.4 : 0.6) / series.length) + (above ? 0.12 : 0);
        const along = places.map((place) => place + (many ? 0 : shift));
        return {
          type: "scatter", mode: "markers", name: plain(shortened(one.name, NARROW.matches ? LONGEST_IN_LEGEND : LONGEST_NAME)), marker: dot,
          x: many ? along : values, y: many ? values : along, [many ? "error_y" : "error_x"]: { ...spread, color: dot.color },
          text: one.points.map((point) => plain(point.text)), hoverinfo: "text",
        };
      });
      const ofValues = { title: { text: plain(axis) }, zeroline: true };
      const ofNames = many
        ? { title: { text: "place" }, zeroline: false }
        : { tickvals: names.map((_, at) => at + 1), ticktext: names.map(label), range: [n + 0.6, above ? 0 : 0.4], zeroline: false, showticklabels: !above };
      const headings = above ? names.map((name, at) => ({
        xref: "paper", x: 0, xanchor: "left", y: at + 0.65, yanchor: "middle", text: label(name), showarrow: false, font: { size: 11 },
      })) : [];
      const across = { type: "line", line: { color: INK[theme].line, dash: "dot", width: 1.2 } };
      const shapes = lines.map((value) => many
        ? { ...across, xref: "paper", x0: 0, x1: 1, y0: value, y1: value }
        : { ...across, yref: "paper", y0: 0, y1: 1, x0: value, x1: value });
      const own = {
        height: many ? 420 : 90 + Math.max(1, n) * Math.max(above ? 36 : 20, 12 * series.length + (above ? 16 : 0)),
        shapes, annotations: headings, showlegend: series.length > 1, ...(above ? { margin: { l: 16, r: 16, t: 16, b: 50 } } : {}),
        xaxis: many ? ofNames : ofValues, yaxis: many ? ofValues : ofNames,
      };
      const points = names.flatMap((_, at) => series.map((one, curve) => ({ curve, point: at, text: one.points[at].text })));
      return { data, layout: own, points: points.filter(({ curve, point }) => !Number.isNaN(series[curve].points[point].value)) };
    };
  }

  /* A table of texts and elements; the first column contains row headers. */
  function table(caption, headings, rows) {
    const { element } = bsjax;
    const head = element("tr", {}, ...headings.map((text) => element("th", { scope: "col" }, text)));
    const body = rows.map((cells) =>
      element("tr", {}, element("th", { scope: "row" }, cells[0]), ...cells.slice(1).map((cell) => element("td", {}, cell))));
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      element("table", { class: "plain numbers" }, element("caption", {}, caption),
        element("thead", {}, head), element("tbody", {}, ...body)));
  }

  /* Format a score with its 95 % interval, or else its error. */
  function spreadWords(score, error, low, high) {
    const { shown } = bsjax;
    if (!Number.isNaN(low) && low !== undefined) return `${shown(score)} [${shown(low)}, ${shown(high)}]`;
    return Number.isNaN(error) ? shown(score) : `${shown(score)} ± ${shown(error)}`;
  }

  globalThis.bsjaxCharts = { chart, dots, table, bars, plain, shortened, label, colour, symbol, spreadWords, INK, HALF };
})();
