/* Functions of all pages: the data, averages and ranks, number formats, the view in the address, and themes. */
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

  /* Decode a column of data.js, {type, base64}. Typed arrays are little-endian on all platforms of browsers. */
  function decode(column) {
    return new ARRAYS[column.type](bytes(column.base64).buffer);
  }

  let loaded = null;

  /* The data of the site, read once: {models, nodes, leaves, cells, reasons, intervals, ...}.
   *
   * nodes: the tree, depth first, each {number, identifier, slug, label, parent, depth, leaf, children, engineering,
   * version, family, public, region, modality, species, ...}; leaves: those that are benchmarks, in the order of rows.
   * cells: columns of (leaves x models): score, error, low, high (Float64Array, NaN if unknown), state, reason and
   * interval (indices into STATES, reasons and intervals), raw (for engineering benchmarks, leaf -> column).
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

  /* Compute the scores of all nodes exactly like bsjax.results.aggregation.aggregate, with sums in the same order.
   *
   * nodes, cells: from data(). normalHalf: half-width of the 95 % interval of a normal distribution.
   * how: "available" or "website". weights: index of a node -> weight, by default 1.
   * included: index of a node -> whether a benchmark counts; by default all.
   *
   * Returns {score, error, state, nThere, nLeaves, nFailed, kept}: arrays of (nodes x models); nLeaves, kept: (nodes).
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

  /* Weights relative to the largest weight among siblings. */
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

  /* The error for averages: that of the score, or of its interval if that is wider. */
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

  /* Ranks of scores, 1 for the highest; equal scores share a rank. NaN (no score) shares the last rank; missing scores
   * have rank 0. */
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

  /* Bounds of ranks as in bsjax.leaderboard.ranking.rank_bounds: {rank, best, worst}, 0 without a rank.
   * A model is surely ahead of another if its score is higher by more than factor times the error of the difference;
   * errors are independent, and 0 if unknown. */
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

  /* Hash a 32-bit integer by the final mixing steps of MurmurHash3: a random number for each position, in any order. */
  function mixed(number) {
    number = Math.imul(number ^ (number >>> 16), 0x85ebca6b);
    number = Math.imul(number ^ (number >>> 13), 0xc2b2ae35);
    return (number ^ (number >>> 16)) >>> 0;
  }

  /* The weight of each benchmark in a node's average of each model, and its score: {weights, scores, n}, (n benchmarks x
   * models); missing scores are 0. nodes: from data(); found: from aggregate(), with the same how and weights. */
  function leafWeights(nodes, found, nModels, number, how = "available", given = new Map()) {
    const shares = sharesOf(nodes, given, found.kept), weights = new Map([[number, new Float64Array(nModels).fill(1)]]), leaves = [];
    for (let at = number; at < nodes.length; at++) {
      const own = weights.get(at);
      if (!own) continue;
      if (nodes[at].leaf >= 0) {
        leaves.push(at);
        continue;
      }
      const children = nodes[at].children.filter((child) => found.kept[child] && shares[child]);
      const counts = (child, model) => how === "website" || found.state[child * nModels + model] === SCORED;
      for (const child of children) weights.set(child, new Float64Array(nModels));
      for (let model = 0; model < nModels; model++) {
        let total = 0;
        for (const child of children) if (counts(child, model)) total += shares[child];
        for (const child of children)
          if (counts(child, model)) weights.get(child)[model] = (own[model] * shares[child]) / total;
      }
    }
    const all = { weights: new Float64Array(leaves.length * nModels), scores: new Float64Array(leaves.length * nModels), n: leaves.length };
    leaves.forEach((leaf, at) => {
      all.weights.set(weights.get(leaf), at * nModels);
      for (let model = 0; model < nModels; model++) {
        const from = leaf * nModels + model;
        if (found.state[from] === SCORED) all.scores[at * nModels + model] = found.score[from];
      }
    });
    return all;
  }

  /* The sum of rows, each weighted by how often it is drawn; four at a time, since memory access is the bottleneck. */
  function addUp(sum, rows, drawn, times) {
    const n = sum.length, left = drawn.length % 4;
    sum.fill(0);
    for (let at = 0; at < left; at++) {
      const row = rows[drawn[at]], count = times[drawn[at]];
      for (let place = 0; place < n; place++) sum[place] += count * row[place];
    }
    for (let at = left; at < drawn.length; at += 4) {
      const [a, b, c, d] = drawn.subarray(at, at + 4), rowA = rows[a], rowB = rows[b], rowC = rows[c], rowD = rows[d];
      const timesA = times[a], timesB = times[b], timesC = times[c], timesD = times[d];
      for (let place = 0; place < n; place++)
        sum[place] += timesA * rowA[place] + timesB * rowB[place] + (timesC * rowC[place] + timesD * rowD[place]);
    }
  }

  /* Bootstrap ranks over benchmarks as in bsjax.leaderboard.ranking.ranks_over_benchmarks: {best, worst, tied}.
   * Numbers are multiples of a power of two, so that sums are exact in any order. Yields between draws. */
  function* ranksOverBenchmarks({ weights, scores, n }, nModels, score, level = 0.95, draws = 10000) {
    const largest = scores.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
    let unit = 2 ** 40;
    for (let power = 1; power < largest; power *= 2) unit /= 2;
    const whole = (value, times) => Math.floor(value * times + 0.5);
    const there = [...Array(nModels).keys()].filter((model) => !Number.isNaN(score[model]));
    const order = [...there].sort((one, other) => score[other] - score[one] || one - other);
    const rowsOf = (value) => Array.from({ length: n }, (_, leaf) => Float64Array.from(there, (model) => value(leaf * nModels + model)));
    const sums = rowsOf((at) => whole(weights[at] * scores[at], unit)), sizes = rowsOf((at) => whole(weights[at], 2 ** 40));
    // Models without missing scores share the sums of the weights.
    const alike = sizes.every((row) => row.every((value) => value === row[0]));
    const times = new Int32Array(n), drawn = new Int32Array(n), values = new Float64Array(there.length);
    const total = new Float64Array(there.length), size = new Float64Array(alike ? 1 : there.length);
    const placed = there.map(() => new Int32Array(there.length + 1)), overtaken = new Int32Array(nModels), of = new Float64Array(nModels);
    for (let draw = 0; draw < draws; draw++) {
      times.fill(0);
      for (let pick = 0; pick < n; pick++) times[Math.floor((mixed(draw * n + pick + 1) * n) / 2 ** 32)]++;
      let distinct = 0;
      for (let leaf = 0; leaf < n; leaf++) if (times[leaf]) drawn[distinct++] = leaf;
      addUp(total, sums, drawn.subarray(0, distinct), times);
      addUp(size, sizes, drawn.subarray(0, distinct), times);
      for (let at = 0; at < there.length; at++) {
        const weight = size[alike ? 0 : at];
        values[at] = of[there[at]] = weight ? total[at] / weight : -Infinity;
      }
      values.sort();
      for (let at = 0; at < there.length; at++) {
        let low = 0, high = there.length;
        const value = of[there[at]];
        while (low < high) {
          const middle = (low + high) >> 1;
          if (values[middle] > value) high = middle;
          else low = middle + 1;
        }
        placed[at][there.length - low + 1]++;
      }
      for (let at = 1; at < order.length; at++) if (of[order[at]] >= of[order[at - 1]]) overtaken[order[at]]++;
      if (draw % 50 === 49) yield;
    }
    const out = Math.floor((draws * (1 - level)) / 2);
    const best = new Int32Array(nModels), worst = new Int32Array(nModels), tied = new Uint8Array(nModels);
    there.forEach((model, at) => {
      const at_rank = (place) => {
        let rank = 0, before = 0;
        while (before <= place) before += placed[at][++rank];
        return rank;
      };
      best[model] = at_rank(out);
      worst[model] = at_rank(draws - 1 - out);
      tied[model] = overtaken[model] > out ? 1 : 0;
    });
    return { best, worst, tied };
  }

  /* Format a number like bsjax.leaderboard.encoding.shown: "" for NaN, no sign before zero. */
  function shown(value, decimals = 3) {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (Math.abs(value) >= MOST_SHOWN) return String(value);
    const text = value.toFixed(decimals);
    return Number(text) === 0 ? text.replace("-", "") : text;
  }

  /* Create an element with attributes and children. Strings become text; functions are listeners; false and null are
   * ignored. */
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(key, value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  /* The name of a model or benchmark, with isolated text direction. */
  function named(text) {
    return element("bdi", {}, text);
  }

  /* Read the view from the address after "#": name -> all its values. */
  function readView() {
    const found = {};
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) (found[name] ??= []).push(value);
    return found;
  }

  /* Write the view to the address: name -> value or values, without empty ones. No history entry is added. */
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
      return null; // a browser may deny storage to local files
    }
  }

  /* The current theme, "light" or "dark". */
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
          // then the theme applies to this page only
        }
      });
    });
  }

  globalThis.bsjax = {
    STATES, MISSING, SCORED, UNDEFINED, FAILED, NOT_APPLICABLE,
    decode, data, aggregate, ranks, rankBounds, leafWeights, ranksOverBenchmarks, spread, shown, element, named, readView, writeView, theme,
  };
  if (typeof document !== "undefined") startTheme();
})();
