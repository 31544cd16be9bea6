/* The table: its controls, its header, and the visible rows. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const { data, element, named, shown, STATES, MISSING, SCORED, UNDEFINED, FAILED, NOT_APPLICABLE } = bsjax;
  const V = bsjax.view;
  const { nodes, models, reasons, leaves } = data();
  let cells = data().cells;
  const by = (id) => document.getElementById(id);
  const table = by("table"), scroll = by("scroll"), tip = by("tip");
  const head = table.tHead, [before, body, after] = table.tBodies, group = table.querySelector("colgroup");
  const WORDS = { [MISSING]: "missing", [UNDEFINED]: "undefined", [FAILED]: "failed", [NOT_APPLICABLE]: "n/a" };
  const KINDS = { [MISSING]: "missing", [UNDEFINED]: "undefined", [FAILED]: "failed", [NOT_APPLICABLE]: "inapplicable" };
  // Widths in rem of the first two columns and of score columns, by cell content; the first is narrower on a phone.
  const WIDTHS = { name: 17, narrow: 8.5, rank: 6.5, score: 6.5, error: 9.5, interval: 12 };
  const STEPS = 10, BEYOND = 8, ASIDE = 3, ROW = 32;

  let view = V.read();
  // Derived from the view: scores, ordered columns and rows, ranks; and the range of drawn rows and columns.
  let found, columns, rows, bounds, drawn = { from: 0, to: 0, left: 0, right: 0 }, everything = false;
  // The cell with the keyboard focus: a row (-1 is the header) and a column (0 name, 1 rank, then scores).
  let focus = { row: -1, column: 0 };

  function update(said = true) {
    found = V.scores(view);
    cells = bsjax.cellsAt(view.until);
    columns = V.columns(view, found);
    rows = V.rows(view, found);
    rank();
    V.write(view);
    size();
    draw(true);
    if (said) say();
  }

  let ranking = 0;

  /* Show ranks, then their intervals: immediately for few models, in steps for many, so that the page stays responsive. */
  function rank() {
    const steps = V.boundsInSteps(view, found), mine = ++ranking;
    const goOn = (later) => {
      if (mine !== ranking) return;
      const until = performance.now() + 40;
      let step = steps.next();
      while (!step.done && performance.now() < until) step = steps.next();
      if (step.done) {
        bounds = step.value;
        table.dataset.ranked = "";
        if (later) {
          draw(true);
          restoreFocus();
        }
      } else {
        if (!later) bounds = V.placed(view, found);
        delete table.dataset.ranked;
        setTimeout(goOn, 0, true);
      }
    };
    goOn(false);
  }

  function say() {
    const order = view.byName ? "name" : nodes[V.ranked(view, found)].identifier;
    const n = leaves.filter((leaf) => found.kept[leaf.number]).length;
    by("said").replaceChildren(
      `${rows.length} of ${models.length} models, ${n} of ${leaves.length} benchmarks, ${columns.length} columns; sorted by `,
      named(order), `, ${view.byName ? (view.ascending ? "from Z to A" : "from A to Z") : view.ascending ? "lowest first" : "highest first"}${view.until ? `; as of ${view.until}` : ""}.`,
    );
  }

  const isNarrow = () => matchMedia("(max-width: 40rem)").matches;

  const widths = () => [isNarrow() ? WIDTHS.narrow : WIDTHS.name, WIDTHS.rank, WIDTHS[view.cells]];

  /* Set the size of the whole table, of which only a part is drawn. */
  function size() {
    const [name, rank, score] = widths();
    group.replaceChildren(...[name, rank, ...columns.map(() => score)].map((width) => sized(element("col"), width)));
    sized(table, name + rank + score * columns.length);
    table.setAttribute("aria-colcount", columns.length + 2);
    table.setAttribute("aria-rowcount", rows.length + 1);
  }

  /* Draw the visible rows and columns and a few beyond; all for printing. */
  function inSight() {
    if (everything) return { from: 0, to: rows.length, left: 0, right: columns.length };
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize), [name, rank, score] = widths();
    // The scrolled area is never higher than the window; its height depends on what is drawn.
    const height = innerHeight, width = Math.max(scroll.clientWidth, 300);
    const left = (scroll.scrollLeft / rem - rank) / score, right = ((scroll.scrollLeft + width) / rem - name - rank) / score;
    return {
      from: Math.max(0, Math.floor(scroll.scrollTop / ROW)), to: Math.min(rows.length, Math.ceil((scroll.scrollTop + height) / ROW)),
      left: Math.max(0, Math.floor(left)), right: Math.min(columns.length, Math.ceil(right)),
    };
  }

  function draw(anew) {
    const { from, to, left, right } = inSight();
    if (!anew && from >= drawn.from && to <= drawn.to && left >= drawn.left && right <= drawn.right) return;
    drawn = {
      from: Math.max(0, from - BEYOND), to: Math.max(0, Math.min(rows.length, to + BEYOND)),
      left: Math.max(0, left - ASIDE), right: Math.max(0, Math.min(columns.length, right + ASIDE)),
    };
    drawn.from = Math.min(drawn.from, drawn.to);
    drawn.left = Math.min(drawn.left, drawn.right);
    head.replaceChildren(headRow());
    space(before, drawn.from);
    space(after, rows.length - drawn.to);
    body.replaceChildren(...rows.slice(drawn.from, drawn.to).map((model, at) => rowOf(model, drawn.from + at)));
    markStop();
  }

  function space(part, n) {
    part.hidden = n === 0;
    part.rows[0].cells[0].style.height = `${n * ROW}px`;
  }

  /* The header: the name, sort state and expand button of each column. */
  function headRow() {
    const row = element("tr", { "aria-rowindex": 1 });
    row.append(
      element("th", { scope: "col", class: "name", "aria-colindex": 1, "aria-sort": view.byName ? (view.ascending ? "descending" : "ascending") : null }, sorter("Model", -1)),
      element("th", { scope: "col", class: "rank", "aria-colindex": 2 }, element("span", { title: `by ${nodes[V.ranked(view, found)].identifier}` }, "Rank")),
      ...gap(drawn.left),
      ...columns.slice(drawn.left, drawn.right).map((node, at) => headOf(node, drawn.left + at)),
      ...gap(columns.length - drawn.right),
    );
    return row;
  }

  /* A placeholder for columns that are not drawn. */
  function gap(n) {
    return n ? [element("td", { colspan: n, class: "gap", "aria-hidden": "true" })] : [];
  }

  function sized(made, rem) {
    made.style.width = `${rem}rem`;
    return made;
  }

  function headOf(node, column) {
    const sorted = !view.byName && V.ranked(view, found) === node.number;
    const cell = element("th", {
      scope: "col", "aria-colindex": column + 3, class: `depth${Math.min(node.depth, 4)}${node.engineering ? " engineering" : ""}`,
      "aria-sort": sorted ? (view.ascending ? "ascending" : "descending") : null,
    });
    const above = node.parent >= 0 ? nodes[node.parent].label : "";
    cell.append(element("span", { class: "above" }, named(above)), sorter(node.label, node.number, node.identifier));
    if (node.leaf < 0) {
      const open = view.open.has(node.number), n = found.nLeaves[node.number];
      cell.append(
        element(
          "button",
          {
            type: "button", class: "open", tabindex: -1, "aria-expanded": String(open),
            title: `${open ? "Hide" : "Show"} what ${node.identifier} is the average of`,
            click: () => changed(() => V.toggle(view, node.number)),
          },
          `${open ? "−" : "+"} ${n}`,
          element("span", { class: "hidden" }, ` benchmarks below ${node.identifier}`),
        ),
      );
    } else
      cell.append(element("a", { href: `benchmarks/${node.slug}.html`, class: "about", tabindex: -1, title: `About ${node.identifier}` }, "about", element("span", { class: "hidden" }, ` ${node.identifier}`)));
    return cell;
  }

  function sorter(label, number, title = label) {
    return element("button", { type: "button", class: "sort", tabindex: -1, title, click: () => changed(() => sortBy(number)) }, broken(label));
  }

  /* A name with line-break opportunities after punctuation, and before the year or kind in it. */
  function broken(label) {
    const parts = label.split(/(?<=[._-])|(?<=[a-z])(?=[0-9]{4}|[A-Z])|(?<=[0-9]{4})(?=[a-z])/);
    return element("bdi", {}, ...parts.flatMap((part, at) => (at ? [element("wbr"), part] : [part])));
  }

  function sortBy(number) {
    const same = number < 0 ? view.byName : !view.byName && view.sort === number;
    view.ascending = same ? !view.ascending : false;
    view.byName = number < 0;
    if (number >= 0) view.sort = number;
  }

  function changed(change) {
    change();
    hideTip();
    update();
    restoreFocus();
  }

  function rowOf(model, at) {
    const row = element("tr", { "aria-rowindex": at + 2 });
    const name = element("a", { href: `models/${model.slug}.html`, tabindex: -1, title: model.identifier }, named(model.identifier));
    const drawnCells = columns.slice(drawn.left, drawn.right).map((node, place) => cellOf(node, model.number, drawn.left + place + 3));
    const gapOf = (n) => (n ? `<td colspan="${n}" class="gap" aria-hidden="true"></td>` : "");
    // Only numbers and words of this page: no external text is parsed as markup.
    row.innerHTML = [
      `<th scope="row" class="name" aria-colindex="1"></th><td class="rank" aria-colindex="2" tabindex="-1">${rankOf(model.number)}</td>`,
      gapOf(drawn.left), ...drawnCells, gapOf(columns.length - drawn.right),
    ].join("");
    row.firstChild.append(name);
    return row;
  }

  function rankOf(model) {
    const rank = bounds.rank[model];
    if (!rank) return "";
    const range = bounds.best[model] ? ` <small>(${bounds.best[model]}–${bounds.worst[model]})</small>` : "";
    return `${rank}${isShared(model) ? "=" : bounds.tied[model] ? "≈" : ""}${range}`;
  }

  const isShared = (model) => bounds.rank.some((rank, other) => other !== model && rank === bounds.rank[model]);

  function cellOf(node, model, place) {
    const at = node.number * models.length + model, state = stateOf(node, model);
    if (state !== SCORED) return `<td class="${KINDS[state]}" aria-colindex="${place}" tabindex="-1">${WORDS[state]}</td>`;
    const score = found.score[at];
    return `<td class="${heat(node, score)}" aria-colindex="${place}" tabindex="-1">${shown(score)}${moreOf(node, model, at)}${part(node, at)}</td>`;
  }

  /* The state of a cell; that of an average depends on the benchmarks below, and is not applicable if all of them are. */
  function stateOf(node, model) {
    const state = found.state[node.number * models.length + model];
    return state === MISSING && isApplicableNowhere(node, model) ? NOT_APPLICABLE : state;
  }

  function isApplicableNowhere(node, model) {
    if (node.leaf >= 0) return cells.state[node.leaf * models.length + model] === NOT_APPLICABLE;
    return node.children.every((child) => !found.kept[child] || isApplicableNowhere(nodes[child], model));
  }

  function moreOf(node, model, at) {
    if (view.cells === "score") return "";
    if (view.cells === "error") return Number.isNaN(found.error[at]) ? "" : ` <small>± ${shown(found.error[at])}</small>`;
    const ends = V.interval(node, model, found, view);
    return ends === null ? "" : ` <small>${shown(ends.low)}–${shown(ends.high)}</small>`;
  }

  function part(node, at) {
    const n = found.nLeaves[node.number];
    return node.leaf >= 0 || found.nThere[at] === n ? "" : `<sup>${found.nThere[at]}/${n}</sup>`;
  }

  /* The colour class of a cell, on the same scale from 0 to 1 in all columns. */
  function heat(node, score) {
    if (score <= 0) return "";
    const share = Math.min(score, 1);
    return `heat${Math.round(share * STEPS)}${node.engineering ? " engineering" : ""}`;
  }

  /* All details of a cell, in lines; null if there are none. */
  function wordsOf({ row, column }) {
    const model = rows[row]?.number;
    if (model === undefined || column < 1) return null;
    if (column === 1) return rankWords(model);
    const node = columns[column - 2];
    if (!node) return null;
    const at = node.number * models.length + model, state = stateOf(node, model);
    const lines = [[named(node.identifier), ` of `, named(models[model].identifier)]];
    if (state === SCORED) {
      const ends = V.interval(node, model, found, view), averaged = found.error[at];
      const own = node.leaf < 0 ? averaged : cells.error[node.leaf * models.length + model];
      lines.push([`score ${found.score[at]}`]);
      lines.push([Number.isNaN(own) ? "no error estimate" : `error ${shown(own, 4)}`]);
      if (averaged > own) lines.push([`${shown(averaged, 4)} in averages and ranks, because the interval is wider than the error`]);
      if (ends) lines.push([`95 % interval ${shown(ends.low, 4)} to ${shown(ends.high, 4)} (${ends.words})`]);
    } else lines.push([STATES[state]]);
    if (node.leaf < 0) {
      lines.push([`${found.nThere[at]} of ${found.nLeaves[node.number]} benchmarks have a score`]);
      if (found.nFailed[at]) lines.push([`${found.nFailed[at]} failed or are undefined`]);
    } else if (state !== SCORED) {
      const reason = reasons[cells.reason[node.leaf * models.length + model]];
      lines.push(reason ? [named(reason)] : [state === MISSING ? "not scored yet" : "the reason was not stored"]);
    }
    return lines;
  }

  function rankWords(model) {
    const rank = bounds.rank[model], name = nodes[V.ranked(view, found)].identifier;
    if (!rank) return [["no rank: no score for ", named(name)]];
    const others = bounds.rank.reduce((n, each) => n + (each === rank), 0) - 1;
    const lines = [[`rank ${rank} of ${models.length} by `, named(name)], [rangeWords(model)]];
    if (bounds.tied[model] && !others) lines.push(["tied with the model above: their order depends on the choice of benchmarks"]);
    if (others) lines.push([`shared with ${others} other${others > 1 ? "s" : ""}`]);
    return lines;
  }

  function rangeWords(model) {
    const range = `from ${bounds.best[model]} to ${bounds.worst[model]}`;
    return nodes[V.ranked(view, found)].leaf >= 0 ? `${range}, given the errors` : `${range} over the choice of benchmarks (95 %)`;
  }

  function showTip(cell, place) {
    const lines = wordsOf(place);
    if (!lines) return hideTip();
    tip.replaceChildren(...lines.map((line) => element("p", {}, ...line)));
    tip.hidden = false;
    const box = cell.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const top = box.bottom + own.height + 6 > innerHeight ? box.top - own.height - 4 : box.bottom + 4;
    tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - own.width - 4))}px`;
    tip.style.top = `${Math.max(4, top)}px`;
    table.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
    cell.setAttribute("aria-describedby", "tip");
  }

  function hideTip() {
    tip.hidden = true;
  }

  /* The focusable element at a position of the table, if it is drawn. */
  function stopAt({ row, column, within = 0 }) {
    const line = row < 0 ? head.rows[0] : body.rows[row - drawn.from];
    const cell = line?.querySelector(`[aria-colindex="${Math.min(column, columns.length + 1) + 1}"]`);
    if (!cell) return null;
    if (row >= 0 && column > 0) return cell;
    const stops = cell.querySelectorAll("button, a");
    return stops[Math.min(within, stops.length - 1)] ?? null;
  }

  /* Only one cell can be reached by Tab; arrow keys lead to the others. */
  function markStop() {
    for (const each of table.querySelectorAll("[tabindex='0']")) each.tabIndex = -1;
    const stop = stopAt(focus) ?? stopAt({ row: -1, column: 0 });
    if (stop) stop.tabIndex = 0;
  }

  function placeOf(target) {
    const cell = target.closest("[aria-colindex]");
    if (!cell || !table.contains(cell)) return null;
    const row = cell.parentNode, within = [...cell.querySelectorAll("button, a")].indexOf(target);
    return {
      row: row.parentNode === head ? -1 : drawn.from + row.sectionRowIndex,
      column: Number(cell.getAttribute("aria-colindex")) - 1, within: Math.max(0, within),
    };
  }

  function restoreFocus() {
    // A change of the view redraws the table; the focus keeps its position.
    if (focus.row >= rows.length) focus.row = rows.length - 1;
    if (document.activeElement === document.body) stopAt(focus)?.focus({ preventScroll: true });
  }

  function moveTo(place) {
    focus = { within: 0, ...place };
    bringIntoSight(focus);
    draw(false);
    markStop();
    stopAt(focus)?.focus({ preventScroll: true });
  }

  /* Scroll to a position that is not covered by the fixed columns and header. */
  function bringIntoSight({ row, column }) {
    if (row >= 0) {
      const top = row * ROW, room = scroll.clientHeight - head.offsetHeight;
      if (top < scroll.scrollTop) scroll.scrollTop = top;
      else if (top + ROW > scroll.scrollTop + room) scroll.scrollTop = top + ROW - room;
    }
    if (column < 1) return;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize), [name, rank, score] = widths();
    const left = rem * (column === 1 ? 0 : rank + (column - 2) * score), width = rem * (column === 1 ? rank : score);
    const room = scroll.clientWidth - rem * name;
    if (left < scroll.scrollLeft) scroll.scrollLeft = left;
    else if (left + width > scroll.scrollLeft + room) scroll.scrollLeft = left + width - room;
  }

  function onKey(event) {
    const place = placeOf(event.target);
    if (!place || event.altKey || event.metaKey) return;
    const lastColumn = columns.length + 1, page = Math.max(1, Math.floor(scroll.clientHeight / ROW) - 2);
    const { row, column, within } = place;
    const sideways = (step) => {
      const stops = row < 0 ? event.target.closest("th").querySelectorAll("button, a").length : 1;
      if (row < 0 && within + step >= 0 && within + step < stops) return { row, column, within: within + step };
      let next = Math.max(0, Math.min(lastColumn, column + step));
      // The header of ranks has no button.
      if (row < 0 && next === 1) next += step;
      return { row, column: Math.max(0, Math.min(lastColumn, next)), within: step < 0 ? 9 : 0 };
    };
    const moves = {
      ArrowRight: () => sideways(1),
      ArrowLeft: () => sideways(-1),
      ArrowDown: () => ({ row: Math.min(rows.length - 1, row + 1), column }),
      ArrowUp: () => ({ row: Math.max(-1, row - 1), column: row === 0 && column === 1 ? 0 : column }),
      PageDown: () => ({ row: Math.min(rows.length - 1, row + page), column }),
      PageUp: () => ({ row: Math.max(Math.min(row, 0), row - page), column }),
      Home: () => ({ row: event.ctrlKey ? Math.min(0, rows.length - 1) : row, column: 0 }),
      End: () => ({ row: event.ctrlKey ? rows.length - 1 : row, column: lastColumn }),
    };
    if (event.key === "Escape") return hideTip();
    if (!moves[event.key]) return;
    event.preventDefault();
    moveTo(moves[event.key]());
  }

  function listen() {
    table.addEventListener("keydown", onKey);
    table.addEventListener("focusin", (event) => {
      const place = placeOf(event.target);
      if (!place) return;
      focus = place;
      markStop();
      showTip(event.target.closest("td, th"), place);
    });
    table.addEventListener("focusout", hideTip);
    table.addEventListener("pointerover", (event) => {
      const place = placeOf(event.target);
      if (place) showTip(event.target.closest("td, th"), place);
    });
    table.addEventListener("pointerleave", hideTip);
    table.addEventListener("click", (event) => event.target.closest("td")?.focus({ preventScroll: true }));
    scroll.addEventListener("scroll", () => {
      draw(false);
      if (document.activeElement?.closest?.("#table") === null) hideTip();
    });
    addEventListener("resize", () => update(false));
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
    addEventListener("hashchange", () => {
      view = V.read();
      showChoices();
      update();
    });
  }

  function print(now) {
    everything = now;
    draw(true);
  }

  const TEXTS = { model: "model", "model-family": "modelFamily", benchmark: "benchmark", how: "how", cells: "cells", until: "until" };
  const CHECKS = { complete: "completeOnly", failed: "withFailed", public: "publicOnly" };

  function fillChoices() {
    const options = (values) => [...new Set(values.filter(Boolean))].sort().map((value) => element("option", { value }, value));
    by("model-family").append(...options(models.map((model) => model.family)));
    for (const facet of V.FACETS) by(facet).append(...options(leaves.map((leaf) => leaf[facet])));
    // Controls without choices are removed.
    for (const id of ["model-family", ...V.FACETS]) by(id).closest("label").hidden = by(id).options.length < 2;
    for (const [id, name] of Object.entries(TEXTS)) by(id).addEventListener("input", () => changed(() => (view[name] = by(id).value)));
    for (const [id, name] of Object.entries(CHECKS)) by(id).addEventListener("input", () => changed(() => (view[name] = by(id).checked)));
    for (const facet of V.FACETS)
      by(facet).addEventListener("input", () =>
        changed(() => {
          if (by(facet).value) view.facets[facet] = by(facet).value;
          else delete view.facets[facet];
        }),
      );
    by("choices").addEventListener("submit", (event) => event.preventDefault());
    by("expand").addEventListener("click", () => changed(() => openAll(nodes)));
    by("collapse").addEventListener("click", () => changed(() => openAll([])));
    by("reset").addEventListener("click", () => changed(() => { view = V.initial(); showChoices(); }));
    by("download").addEventListener("click", download);
    by("link").addEventListener("click", copyLink);
    by("own").addEventListener("toggle", drawOwn);
    by("own-find").addEventListener("input", findOwn);
    by("own-reset").addEventListener("click", () => changed(() => { view.weights.clear(); drawOwn(); }));
  }

  function openAll(which) {
    view.open = new Set(which.filter((node) => node.leaf < 0).map((node) => node.number));
    view.override.clear();
    if (by("own").open) drawOwn();
  }

  function showChoices() {
    for (const [id, name] of Object.entries(TEXTS)) by(id).value = view[name];
    for (const [id, name] of Object.entries(CHECKS)) by(id).checked = view[name];
    for (const facet of V.FACETS) by(facet).value = view.facets[facet] ?? "";
    drawOwn();
  }

  /* The list of all columns, with their visibility and weights. */
  function drawOwn() {
    if (!by("own").open) return;
    by("own-list").replaceChildren(...nodes.map(ownOf));
    findOwn();
  }

  function ownOf(node) {
    const show = element("input", {
      type: "checkbox", "aria-label": `Show ${node.identifier}`,
      change: () => changed(() => V.choose(view, node.number, show.checked)),
    });
    show.checked = V.isColumn(node.number, view);
    const weight = element("input", {
      type: "number", min: 0, step: "any", inputmode: "decimal", value: view.weights.get(node.number) ?? 1, "aria-label": `Weight of ${node.identifier}`,
      input: () => {
        const given = V.weightOf(weight.value);
        weight.setAttribute("aria-invalid", given === null);
        if (given === null) return;
        changed(() => (given === 1 ? view.weights.delete(node.number) : view.weights.set(node.number, given)));
      },
    });
    const line = element("li", { class: `depth${Math.min(node.depth, 4)}` }, element("label", {}, show, named(node.identifier)), weight);
    // A root is not part of an average, so it has no weight.
    if (node.parent < 0) weight.remove();
    return line;
  }

  function findOwn() {
    const wanted = by("own-find").value.toLowerCase();
    [...by("own-list").children].forEach((line, at) => (line.hidden = !nodes[at].identifier.toLowerCase().includes(wanted)));
  }

  function download() {
    const made = V.csv(view, found, rows, columns);
    const address = URL.createObjectURL(new Blob(["\ufeff", made], { type: "text/csv;charset=utf-8" }));
    element("a", { href: address, download: "leaderboard.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  async function copyLink() {
    const button = by("link");
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = "Copied";
    } catch {
      button.textContent = "The address above is the link";
    }
    setTimeout(() => (button.textContent = "Copy link"), 3000);
  }

  by("leaderboard").hidden = false;
  // On a phone the table comes first, and the filters are collapsed.
  by("filters").open = !isNarrow();
  fillChoices();
  showChoices();
  listen();
  update();
  table.dataset.ready = "";
});
