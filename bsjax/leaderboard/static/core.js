/* What all pages share: the data, averages and ranks, how numbers look, the view in the address, light and dark. */
"use strict";

(function () {
  const MISSING = 0, SCORED = 1, UNDEFINED = 2, FAILED = 3, NOT_APPLICABLE = 4;
  const STATES = ["missing", "scored", "undefined", "failed", "not applicable"];
  const MOST_SHOWN = 1e6;

  function bytes(base64) {
    const text = atob(base64), found = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) found[at] = text.charCodeAt(at);
    return found;
  }

  const ARRAYS = { f8: Float64Array, i4: Int32Array, i2: Int16Array, i1: Int8Array };

  /* Numbers of a column as data.js has it, {type, base64}. Typed arrays are little-endian wherever browsers run. */
  function decode(column) {
    return new ARRAYS[column.type](bytes(column.base64).buffer);
  }

  let loaded = null;

  /* The data of the site, read once: {models, nodes, leaves, cells, reasons, intervals, ...}.
   *
   * nodes: the tree, depth first, each {number, identifier, slug, label, parent, depth, leaf, children, engineering,
   * version, family, public, region, modality, species, ...}; leaves: those that are benchmarks, in the order of rows.
   * cells: columns of (leaves x models): score, error, low, high (Float64Array, NaN where not known), state, reason
   * and interval (whole numbers, for STATES, reasons and intervals), raw (of engineering benchmarks, leaf -> column).
   */
  function data() {
    if (loaded) return loaded;
    const given = window.bsjaxData;
    const nodes = given.nodes.map((node, number) => ({ ...node, number, children: [] }));
    for (const node of nodes) if (node.parent >= 0) nodes[node.parent].children.push(node.number);
    const models = given.models.map((model, number) => ({ ...model, number }));
    const cells = { raw: {} };
    for (const name in given.columns) cells[name] = decode(given.columns[name]);
    for (const leaf in given.raw) cells.raw[leaf] = decode(given.raw[leaf]);
    const byName = new Map(nodes.map((node) => [node.identifier, node.number]));
    loaded = { ...given, nodes, models, cells, byName, leaves: nodes.filter((node) => node.leaf >= 0) };
    return loaded;
  }

  /* The scores of all nodes, as bsjax.results.aggregation.aggregate works them out, digit for digit: the same sums in
   * the same order.
   *
   * nodes, cells: of data(). normalHalf: half of an interval of 95 % of a normal distribution.
   * how: "available" or "website". weights: number of a node -> its weight, 1 where none is given.
   * included: number of a node -> whether a benchmark counts; all if not given.
   *
   * Gives {score, error, state, nThere, nLeaves, nFailed, kept}: arrays of (nodes x models); nLeaves and kept of nodes.
   */
  function aggregate(nodes, cells, nModels, normalHalf, how = "available", weights = new Map(), included = null) {
    const n = nodes.length, size = n * nModels;
    const found = {
      score: new Float64Array(size).fill(NaN), error: new Float64Array(size).fill(NaN), state: new Int8Array(size),
      nThere: new Int32Array(size), nFailed: new Int32Array(size), nLeaves: new Int32Array(n), kept: new Uint8Array(n),
    };
    for (let at = n - 1; at >= 0; at--) {
      const { leaf, children } = nodes[at];
      found.kept[at] = leaf >= 0 ? !included || included.has(at) : children.some((child) => found.kept[child]);
    }
    const shares = sharesOf(nodes, weights, found.kept);
    for (let at = n - 1; at >= 0; at--) {
      if (!found.kept[at]) continue;
      if (nodes[at].leaf >= 0) takeLeaf(nodes[at], at, cells, nModels, normalHalf, how, found);
      else average(at, nodes[at].children.filter((child) => found.kept[child] && shares[child]), shares, how, nModels, found);
    }
    return found;
  }

  /* Weights in units of the greatest among siblings. */
  function sharesOf(nodes, weights, kept) {
    const shares = nodes.map((_, at) => (weights.has(at) ? weights.get(at) : 1));
    for (let at = 0; at < nodes.length; at++) {
      const children = nodes[at].children.filter((child) => kept[child]);
      const greatest = Math.max(0, ...children.map((child) => shares[child]));
      if (greatest) for (const child of children) shares[child] /= greatest;
    }
    return shares;
  }

  function takeLeaf(node, at, cells, nModels, normalHalf, how, found) {
    const raw = how === "website" && node.engineering ? cells.raw[node.leaf] : undefined;
    found.nLeaves[at] = 1;
    for (let model = 0; model < nModels; model++) {
      const cell = node.leaf * nModels + model, to = at * nModels + model;
      let score = cells.score[cell], state = cells.state[cell] === NOT_APPLICABLE ? MISSING : cells.state[cell];
      if (raw && !Number.isNaN(raw[model]) && state !== FAILED && state !== MISSING) {
        score = raw[model];
        state = SCORED;
      } else if (how === "website" && !node.engineering) score = Math.min(Math.max(score, 0), 1);
      found.score[to] = score;
      found.state[to] = state;
      if (state === SCORED) {
        found.error[to] = spread(cells, cell, normalHalf);
        found.nThere[to] = 1;
      } else if (state > SCORED) found.nFailed[to] = 1;
    }
  }

  /* The error that goes into averages: that of the score, or of its interval where that is wider. */
  function spread(cells, cell, normalHalf) {
    const half = (cells.high[cell] - cells.low[cell]) / 2 / normalHalf, error = cells.error[cell];
    if (Number.isNaN(error)) return half;
    return Number.isNaN(half) ? error : Math.max(error, half);
  }

  function average(at, children, shares, how, nModels, found) {
    const { score, error, state, nThere, nFailed, nLeaves } = found;
    for (const child of children) nLeaves[at] += nLeaves[child];
    for (let model = 0; model < nModels; model++) {
      const to = at * nModels + model;
      let sum = 0, squares = 0, total = 0, any = false, worst = MISSING;
      for (const child of children) {
        const from = child * nModels + model, share = shares[child], there = state[from] === SCORED;
        nThere[to] += nThere[from];
        nFailed[to] += nFailed[from];
        if (state[from] > worst) worst = state[from];
        if (there || how === "website") total += share;
        if (!there) continue;
        any = true;
        sum += share * score[from];
        const scaled = share * error[from];
        squares += scaled * scaled;
      }
      state[to] = any ? SCORED : worst;
      if (!any) continue;
      score[to] = sum / total;
      error[to] = Math.sqrt(squares) / total;
    }
  }

  /* The places of scores, 1 for the highest; equal scores share one. NaN, which is no score, shares the last place; what
   * is missing has none: 0. */
  function ranks(scores, states) {
    const order = placed(scores, states), found = new Int32Array(scores.length);
    order.forEach((model, at) => {
      const before = order[at - 1];
      const same = at && (scores[model] === scores[before] || (Number.isNaN(scores[model]) && Number.isNaN(scores[before])));
      found[model] = same ? found[before] : at + 1;
    });
    return found;
  }

  function placed(scores, states) {
    const there = [...scores.keys()].filter((model) => states[model] !== MISSING);
    const value = (model) => (Number.isNaN(scores[model]) ? -Infinity : scores[model]);
    return there.sort((one, other) => (value(other) > value(one)) - (value(other) < value(one)));
  }

  /* How far ranks are certain, as bsjax.leaderboard.ranking.rank_bounds: {rank, best, worst}, 0 where there is none.
   * A model is surely ahead of another if its score is greater by more than factor times the error of the difference,
   * errors being independent and 0 where not known. */
  function rankBounds(scores, errors, states, factor) {
    const rank = ranks(scores, states), n = scores.length;
    const best = Int32Array.from(rank), worst = Int32Array.from(rank);
    const there = [...scores.keys()].filter((model) => !Number.isNaN(scores[model]));
    const squares = Float64Array.from(errors, (error) => (Number.isNaN(error) ? 0 : error * error));
    for (const model of there) {
      let ahead = 0, behind = 0;
      for (const other of there) {
        const difference = scores[other] - scores[model], sure = factor * Math.sqrt(squares[other] + squares[model]);
        if (difference > sure) ahead++;
        else if (-difference > sure) behind++;
      }
      best[model] = 1 + ahead;
      worst[model] = there.length - behind;
    }
    return { rank, best, worst, n };
  }

  /* A number as pages show it: "" for NaN, no sign before zero. The same as bsjax.leaderboard.encoding.shown. */
  function shown(value, decimals = 3) {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (Math.abs(value) >= MOST_SHOWN) return String(value);
    const text = value.toFixed(decimals);
    return Number(text) === 0 ? text.replace("-", "") : text;
  }

  /* An element with attributes and children; texts stay texts. Functions are listeners, false and null set nothing. */
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(key, value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  /* The name of a model or benchmark, which keeps its direction of writing to itself. */
  function named(text) {
    return element("bdi", {}, text);
  }

  /* The view, which stands in the address after "#": name -> all its values. */
  function readView() {
    const found = {};
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) (found[name] ??= []).push(value);
    return found;
  }

  /* Put the view into the address: name -> a value, or several; empty ones are left out. No step of the history is made. */
  function writeView(view) {
    const written = new URLSearchParams();
    for (const [name, values] of Object.entries(view))
      for (const value of [values].flat()) if (value !== "" && value !== null && value !== undefined) written.append(name, value);
    const hash = String(written);
    if (hash !== location.hash.slice(1)) history.replaceState(null, "", `#${hash}`);
  }

  const THEMES = ["auto", "light", "dark"];

  function kept(name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null; // a browser may refuse to keep anything of files
    }
  }

  /* "light" or "dark": what the page has now. */
  function theme() {
    const chosen = document.documentElement.dataset.theme;
    if (chosen !== "auto") return chosen;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  function setTheme(chosen) {
    document.documentElement.dataset.theme = THEMES.includes(chosen) ? chosen : "auto";
    document.dispatchEvent(new Event("bsjax:theme"));
  }

  function startTheme() {
    setTheme(kept("bsjax-theme"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("bsjax:theme")));
    document.addEventListener("DOMContentLoaded", () => {
      const choice = document.getElementById("theme");
      choice.closest("[hidden]")?.removeAttribute("hidden");
      choice.value = document.documentElement.dataset.theme;
      choice.addEventListener("change", () => {
        setTheme(choice.value);
        try {
          localStorage.setItem("bsjax-theme", choice.value);
        } catch {
          // then it holds for this page alone
        }
      });
    });
  }

  globalThis.bsjax = {
    STATES, MISSING, SCORED, UNDEFINED, FAILED, NOT_APPLICABLE,
    decode, data, aggregate, ranks, rankBounds, spread, shown, element, named, readView, writeView, theme,
  };
  if (typeof document !== "undefined") startTheme();
})();
