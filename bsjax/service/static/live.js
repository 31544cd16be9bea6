/* Live updates of the page of a submission: its steps and logs are polled until it ends. */
"use strict";

(function () {
  const steps = document.getElementById("steps"), state = document.getElementById("state");
  if (!("live" in steps.dataset)) return;

  function said(of) {
    const made = document.createElement("span");
    made.className = `state ${of}`;
    made.textContent = of;
    return made;
  }

  function time(at) {
    const made = document.createElement("time");
    made.dateTime = made.title = at;
    made.textContent = at.slice(0, 16).replace("T", " ");
    return made;
  }

  function row(step, line) {
    const parts = [said(step.state), time(step.since), step.attempt, step.seconds, step.peak, step.memory, step.reason];
    parts.forEach((part, at) => line.cells[at + 1].replaceChildren(part));
    const log = document.getElementById(`log-${step.name}`), text = log.querySelector("pre");
    if (step.state === "running" && !log.dataset.seen) log.open = log.dataset.seen = true;
    const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
    text.textContent = step.log || "no output yet";
    if (atEnd) text.scrollTop = text.scrollHeight;
  }

  async function ask() {
    const { address, after } = steps.dataset;
    try {
      const answer = await fetch(`${address}?after=${after}`), one = answer.ok ? await answer.json() : {};
      if (one.steps) {
        one.steps.forEach((step, at) => row(step, steps.rows[at]));
        state.replaceChildren(said(one.state), " since ", time(one.since), one.reason ? `: ${one.reason}` : "");
        steps.dataset.after = one.after;
        // Reload for the final buttons and scores.
        if (one.over) return location.reload();
      }
    } catch {
      // The service is temporarily unavailable.
    }
    setTimeout(ask, 2000);
  }

  setTimeout(ask, 1000);
})();
