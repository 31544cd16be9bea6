/* The table at the end of a day, with the latest score of each pair begun by then. */
"use strict";

(function () {
  const { data, decode, MISSING, SCORED, NOT_APPLICABLE } = bsjax;

  /* The cells of data() at the end of a day in UTC, "2026-08-01". The version of a benchmark is the highest that had a
   * score. Failures and intervals of replaced scores are not stored; such scores only have errors. */
  function cellsOf(day) {
    const { cells, leaves, models } = data(), n = models.length, until = Date.parse(`${day}T23:59:59.999Z`) / 1000;
    const started = decode(bsjaxHistory.started);
    const earlier = Object.fromEntries(Object.entries(bsjaxHistory.earlier).map(([name, column]) => [name, decode(column)]));
    const past = { raw: {} };
    for (const name in cells) if (name !== "raw") past[name] = cells[name].slice();
    for (const leaf in cells.raw) past.raw[leaf] = cells.raw[leaf].slice();
    const stays = (cell) => cells.state[cell] === SCORED && started[cell] <= until;
    const versions = new Int32Array(leaves.length), last = new Map();
    for (let cell = 0; cell < started.length; cell++) {
      const leaf = Math.floor(cell / n);
      if (stays(cell)) versions[leaf] = leaves[leaf].version ?? 0;
    }
    const wanted = [...earlier.leaf.keys()].filter((at) => earlier.started[at] <= until);
    for (const at of wanted) versions[earlier.leaf[at]] = Math.max(versions[earlier.leaf[at]], earlier.version[at]);
    for (const at of wanted) {
      const cell = earlier.leaf[at] * n + earlier.model[at];
      if (earlier.version[at] === versions[earlier.leaf[at]] && !(earlier.started[last.get(cell)] > earlier.started[at])) last.set(cell, at);
    }
    for (let cell = 0; cell < started.length; cell++) {
      const at = last.get(cell), leaf = Math.floor(cell / n);
      if (stays(cell) && versions[leaf] === (leaves[leaf].version ?? 0)) continue;
      past.score[cell] = at === undefined ? NaN : earlier.score[at];
      past.error[cell] = at === undefined ? NaN : earlier.error[at];
      past.low[cell] = past.high[cell] = NaN;
      past.reason[cell] = past.interval[cell] = 0;
      past.state[cell] = at !== undefined ? SCORED : cells.state[cell] === NOT_APPLICABLE ? NOT_APPLICABLE : MISSING;
      if (past.raw[leaf]) past.raw[leaf][cell % n] = NaN;
    }
    return past;
  }

  let kept = { day: "" };

  /* The cells of a day, "" for now; those of the last requested day are cached. */
  bsjax.cellsAt = (day) => {
    if (!day) return data().cells;
    if (kept.day !== day) kept = { day, cells: cellsOf(day) };
    return kept.cells;
  };
})();
