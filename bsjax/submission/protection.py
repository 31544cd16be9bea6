r"""Private benchmarks, and the protection of their data against overfitting to the scores.

Repeated submission with selection of the higher scores fits the evaluation data, and not the brain. Scores on a private
benchmark are therefore rounded, and their number in a period is limited. The best score that an account is shown
changes only if a new score improves on it by more than chance explains: the *Ladder*. The parameter-free Ladder
requires an improvement of one standard error of the paired difference. Among n equally good models, the best exceeds
that by up to :math:`\sqrt{2 \ln n}` standard errors, which are added here, for n submissions of the account.

Source: Blum & Hardt 2015, "The Ladder: a reliable leaderboard for machine learning competitions".
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from sqlalchemy import RowMapping, delete, select, update

from bsjax.inference.pairing import paired
from bsjax.labelled import Score
from bsjax.results import ResultStore, tables
from bsjax.results.database import insert_new, inserting
from bsjax.submission.queue import Submission, submissions

_MOST_DECIMALS = 6
_of, _shown = tables.protected.c, tables.shown.c


@dataclass(frozen=True)
class Protection:
    """The protection of a benchmark.

    Attributes:
        benchmark: identifier of the benchmark, or a glob.
        stimuli_private: whether its stimuli are also private.
        decimals: number of decimals of the scores that are shown.
        limit_per_period, period_days: number of submissions of an account that are scored in a period, and its length
            in days.
        created: when the protection was added, ISO 8601 in UTC.
    """

    benchmark: str
    stimuli_private: bool
    decimals: int
    limit_per_period: int
    period_days: int
    created: str


def protect(
    store: ResultStore, benchmark: str, stimuli: bool = False, decimals: int = 2, limit: int = 5, days: int = 7
) -> None:
    """Mark a benchmark as private, or change its protection.

    Args:
        store: the store of results.
        benchmark: identifier of the benchmark, or a glob.
        stimuli: whether its stimuli are also private.
        decimals: number of decimals of the scores that are shown, 0 to 6.
        limit, days: number of submissions of an account that are scored in a period, and its length in days.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     protect(store, "Doe2026.*")
        ...     protection_of(store, "Doe2026.V4-pls").decimals, protection_of(store, "Roe2026.V4-pls")
        (2, None)
    """
    if not 0 <= decimals <= _MOST_DECIMALS or min(limit, days) < 1:
        raise ValueError(
            f"expected decimals from 0 to {_MOST_DECIMALS}, a limit and days from 1, got {decimals}, {limit} and {days}"
        )
    how = {"stimuli_private": stimuli, "decimals": decimals, "limit_per_period": limit, "period_days": days}
    with store.writing() as connection:
        asked = inserting(connection, tables.protected).values(benchmark=benchmark, created=_now().isoformat(), **how)
        connection.execute(asked.on_conflict_do_update(index_elements=["benchmark"], set_=how))


def unprotect(store: ResultStore, benchmark: str) -> None:
    """Remove the protection of a benchmark.

    Raises:
        ValueError: the benchmark is not protected.
    """
    with store.writing() as connection:
        found = connection.execute(delete(tables.protected).where(_of.benchmark == benchmark)).rowcount
    if not found:
        raise ValueError(f"{benchmark!r} is not protected; see `bsjax protect`")


def protections(store: ResultStore) -> list[Protection]:
    """List all protections, sorted by benchmark."""
    with store.reading() as connection:
        rows = connection.execute(select(tables.protected).order_by(_of.benchmark)).mappings().all()
    return [Protection(**{name: row[name] for name in Protection.__dataclass_fields__}) for row in rows]


def protection_of(store: ResultStore, benchmark: str) -> Protection | None:
    """Find the protection of a benchmark: its own, else that of the longest matching glob; None if unprotected."""
    own = [each for each in protections(store) if benchmark == each.benchmark or fnmatchcase(benchmark, each.benchmark)]
    return max(own, key=lambda each: (each.benchmark == benchmark, len(each.benchmark)), default=None)


def over_limit(store: ResultStore, benchmark: str, submission: Submission) -> str:
    """Say why a submission may not be scored on a benchmark, in one line; "" if it may.

    Every earlier submission of a model by the account in the period counts, whatever its outcome. This machine has no
    limit.
    """
    protection = protection_of(store, benchmark)
    if submission.account is None or protection is None:
        return ""
    period = timedelta(days=protection.period_days)
    earlier = [
        datetime.fromisoformat(each.created)
        for each in submissions(store, submission.account)
        if "model" in each.kinds and each.id != submission.id and each.created <= submission.created
    ]
    used = sorted(time for time in earlier if time > datetime.fromisoformat(submission.created) - period)
    if len(used) < protection.limit_per_period:
        return ""
    begins = used[-protection.limit_per_period] + period
    return (
        f"{benchmark} is limited to {protection.limit_per_period} submissions per account in "
        f"{protection.period_days} days: the next is possible from {begins:%Y-%m-%d %H:%M} UTC"
    )


def ladder(best: Score | None, new: Score, tries: int = 1) -> bool:
    r"""Decide whether a new score replaces the best score, i.e. improves on it by more than chance explains.

    Args:
        best: the best score so far; None if there is none.
        new: the new score.
        tries: number n of scores compared so far, including this one.

    Returns:
        Whether the improvement exceeds :math:`1 + \sqrt{2 \ln n}` standard errors. The standard error is that of the
        paired difference if both scores share draws or units, else the larger of the errors of the two scores. Without
        errors the answer is False. A NaN never replaces a score.

    Example:
        >>> best = Score(0.5, error=0.02)
        >>> [ladder(best, Score(value, error=0.02)) for value in (0.51, 0.53)], ladder(best, Score(0.53, error=0.02), 2)
        ([False, True], False)
    """
    if math.isnan(float(new)):
        return False
    if best is None:
        return True
    reach = 1 + math.sqrt(2 * math.log(tries))
    if not float(new) > float(best):
        return False
    try:
        evidence = paired({"best": best, "new": new}).evidence
    except ValueError:  # they have nothing in common
        errors = [float(score.error) for score in (best, new) if score.error is not None]
        return bool(errors) and float(new) - float(best) > reach * max(errors)
    low, _ = evidence.interval("t", np.array([1]), np.array([0]), math.erf(reach / math.sqrt(2)))
    return bool(low[0] > 0)


def show_score(store: ResultStore, account: int | None, score: Score, key: str) -> float:
    """Get the value of a score that an account may see.

    Args:
        store: the store of results, which contains the score.
        account: number of the account; None on this machine.
        score: the score.
        key: its key in the store.

    Returns:
        The rounded score if it improves on the best (:func:`ladder`), else the best shown before, or NaN if there is
        none. For a benchmark that is not private, the score itself.
    """
    benchmark, version = str(score.provenance.benchmark), score.provenance.benchmark_version or 0
    protection = protection_of(store, benchmark)
    if protection is None:
        return float(score)
    own = _shown.account_id == (account or 0), _shown.benchmark == benchmark
    while True:
        with store.reading() as connection:
            row = connection.execute(select(tables.shown).where(*own)).mappings().first()
        is_first = row is None or row["version"] != version
        if row is not None and (row["score_key"] == key or math.isnan(float(score))):
            return row["shown"]
        if math.isnan(float(score)):
            return math.nan
        tries = 1 if row is None or is_first else row["tries"] + 1
        new: dict[str, Any] = {"tries": tries}
        if row is None or is_first or ladder(_best(store, row, score), score, tries):
            new |= {"version": version, "score_key": key, "shown": round(float(score), protection.decimals)}
            new["since"] = _now().isoformat()
        with store.writing() as connection:
            if row is None:
                row_of = {"account_id": account or 0, "benchmark": benchmark}
                is_written = insert_new(connection, tables.shown, [row_of | new])
            else:  # only if no other process has changed the row since it was read
                as_read = _shown.score_key == row["score_key"], _shown.tries == row["tries"]
                is_written = connection.execute(update(tables.shown).where(*own, *as_read).values(new)).rowcount
        if is_written:
            return new["shown"] if "shown" in new or row is None else row["shown"]


def public_columns(score: Score, protection: Protection, shown: float) -> Mapping[str, Any]:
    """Get the publishable columns of a score on a private benchmark: no values of units, no more decimals than shown.

    Args:
        score: the score.
        protection: the protection of its benchmark.
        shown: the value from :func:`show_score`.

    Example:
        >>> hidden = Protection("Doe2026-pls", False, 2, 5, 7, "")
        >>> score = Score(0.5123, error=0.0312, provenance={"model": "pixels", "benchmark": "Doe2026-pls"})
        >>> public_columns(score, hidden, 0.51)
        {'model': 'pixels', 'benchmark': 'Doe2026-pls', 'version': None, 'score': 0.51, 'error': 0.04}
    """
    made, scale = score.provenance, 10**protection.decimals
    columns = {"model": made.model, "benchmark": made.benchmark, "version": made.benchmark_version}
    error = math.nan if score.error is None else float(score.error)
    is_known = shown == round(float(score), protection.decimals) and math.isfinite(error)
    return columns | {"score": shown, "error": math.ceil(error * scale) / scale if is_known else None}


def _best(store: ResultStore, row: RowMapping, like: Score) -> Score:
    """The best score so far; its shown value if the score was removed."""
    try:
        return store.score(row["score_key"])
    except KeyError:
        return Score(row["shown"], error=like.error)


def _now() -> datetime:
    return datetime.now(UTC)
