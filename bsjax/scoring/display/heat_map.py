"""Heat map of a grid in HTML for notebooks: models by benchmarks, darker for higher scores, failures marked."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# Largest number of models and of benchmarks that are shown; a note counts the others.
_MOST = 100
_LIGHT, _DARK = (240, 246, 252), (8, 64, 129)
# Text of cells without a number.
_WORDS = {"failed": "failed", "blocked": "blocked", "missing": "", "undefined": "NaN", "resolved": "over time"}
_STYLE = """
<style>
.bsjax-grid { border-collapse: separate; border-spacing: 2px; font-size: 12px; }
.bsjax-grid th { font-weight: normal; text-align: left; }
.bsjax-grid thead th { vertical-align: bottom; text-align: center; }
.bsjax-grid thead th span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap; }
.bsjax-grid tbody th { white-space: nowrap; padding-right: 6px; }
.bsjax-grid td { text-align: center; min-width: 40px; padding: 4px; border-radius: 3px; cursor: default; }
.bsjax-grid td.none { border: 1px dashed #8a8a8a; }
.bsjax-grid td.failed { background: #fdf0e6; color: #8f3300; border: 1px solid #c2570c; }
</style>
"""


def heat_map(frame: pd.DataFrame) -> str:
    """The table as HTML. Hovering over a cell shows error, interval and ceiling of its score, or why there is none.

    Args:
        frame: columns ``model``, ``benchmark``, ``state``, ``score``, ``error``, ``ceiling``, ``reason``, ``seconds``;
            also ``low``, ``high`` and ``interval`` if intervals are known.

    Example:
        >>> import pandas as pd
        >>> row = {"model": "pixels", "benchmark": "Doe2026-pls", "state": "scored", "score": 0.5, "error": 0.1}
        >>> "0.50 ± 0.10" in heat_map(pd.DataFrame([row | {"ceiling": 0.8, "reason": "", "seconds": 2.0}]))
        True
    """
    models, benchmarks = (list(dict.fromkeys(frame[name])) for name in ("model", "benchmark"))
    cells = {(row["model"], row["benchmark"]): row for row in frame.to_dict("records")}
    head = "".join(f'<th scope="col"><span>{escape(name)}</span></th>' for name in benchmarks[:_MOST])
    rows = [
        f'<tr><th scope="row">{escape(model)}</th>'
        + "".join(_cell(cells.get((model, benchmark))) for benchmark in benchmarks[:_MOST])
        + "</tr>"
        for model in models[:_MOST]
    ]
    left_out = [
        f"{len(names) - _MOST:,} {kind}"
        for names, kind in ((models, "models"), (benchmarks, "benchmarks"))
        if names[_MOST:]
    ]
    note = f"<p>{' and '.join(left_out)} more: see <code>grid.frame()</code></p>" if left_out else ""
    return (
        f'{_STYLE}<table class="bsjax-grid"><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{note}"
    )


def _cell(row: Any) -> str:
    if row is None:
        return '<td class="none"></td>'
    state = row["state"]
    if state == "scored":
        red, green, blue = _colour(row["score"])
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 140
        style = f"background: rgb({red}, {green}, {blue}); color: {'#fff' if dark else '#111'}"
        return f'<td style="{style}" title="{escape(_about(row))}">{row["score"]:z.2f}</td>'
    kind = "failed" if state == "failed" else "none"
    return f'<td class="{kind}" title="{escape(_about(row))}">{_WORDS.get(state, state)}</td>'


def _colour(score: float) -> tuple[int, int, int]:
    share = min(max(score, 0.0), 1.0)
    red, green, blue = (round(light + share * (dark - light)) for light, dark in zip(_LIGHT, _DARK, strict=True))
    return red, green, blue


def _about(row: Any) -> str:
    said = [f"{row['model']} on {row['benchmark']}"]
    if row["state"] == "scored":
        error = f" ± {row['error']:z.2f}" if row["error"] == row["error"] else ", no error estimate"
        said.append(f"{row['score']:z.2f}{error}")
        if isinstance(words := row.get("interval"), str):
            said.append(f"{row['low']:z.2f} to {row['high']:z.2f}, 95 % {words}")
        if row["ceiling"] == row["ceiling"]:
            said.append(f"ceiling {row['ceiling']:z.2f}")
    if isinstance(row["reason"], str) and row["reason"]:
        said.append(row["reason"])
    if row["seconds"] == row["seconds"]:
        said.append(f"{row['seconds']:.1f} s")
    return "\n".join(said)
