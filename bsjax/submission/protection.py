r"""Private benchmarks: how much of their scores is shown, so that nobody can learn them from the scores.

Whoever submits again and again and keeps what scored higher learns the data that are scored on, and not the brain. So
scores are rounded, their number in a period is limited, and the best that an account is shown moves only where a new
score is better than chance explains: the *Ladder*. Its parameter-free form takes one standard error of the paired
difference. The best of n models that are no better exceeds that by up to :math:`\sqrt{2 \ln n}` standard errors, which
are added here, for n submissions of the account.

Source: Blum & Hardt 2015, "The Ladder: a reliable leaderboard for machine learning competitions".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

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
    """How a benchmark is protected.

    Attributes:
        benchmark: its identifier, or a glob.
        stimuli_private: whether its stimuli are private, too.
        decimals: of the scores that are shown.
        limit_per_period, period_days: how many submissions an account may have scored on it in how many days.
        created: since when.
    """

    benchmark: str
    stimuli_private: bool
    decimals: int
    limit_per_period: int
    period_days: int
    created: str


class Allowance(NamedTuple):
    """Whether an account may have a submission scored.

    Attributes:
        left: how many submissions, in this period.
        next: when the next may be, ISO 8601 in UTC; None for now.
        reason: why not now, in one line; "" where it may.
    """

    left: int
    next: str | None
    reason: str


def protect(
    store: ResultStore, benchmark: str, stimuli: bool = False, decimals: int = 2, limit: int = 5, days: int = 7
) -> None:
    """Mark a benchmark as private, or change how it is protected.

    Args:
        store: the store of results.
        benchmark: its identifier, or a glob.
        stimuli: whether its stimuli are private, too.
        decimals: of the scores that are shown.
        limit, days: how many submissions an account may have scored on it in how many days.

    Raises:
        ValueError: a number is out of its range.

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
    """Take the mark back.

    Raises:
        ValueError: it is not there.
    """
    with store.writing() as connection:
        found = connection.execute(delete(tables.protected).where(_of.benchmark == benchmark)).rowcount
    if not found:
        raise ValueError(f"{benchmark!r} is not protected; see `bsjax protect`")


def protections(store: ResultStore) -> list[Protection]:
    """How benchmarks are protected, by name."""
    with store.reading() as connection:
        rows = connection.execute(select(tables.protected).order_by(_of.benchmark)).mappings().all()
    return [Protection(**{name: row[name] for name in Protection.__dataclass_fields__}) for row in rows]


def protection_of(store: ResultStore, benchmark: str) -> Protection | None:
    """How a benchmark is protected, by its own mark, or by the longest glob that it matches; None where it is not."""
    own = [each for each in protections(store) if benchmark == each.benchmark or fnmatchcase(benchmark, each.benchmark)]
    return max(own, key=lambda each: (each.benchmark == benchmark, len(each.benchmark)), default=None)


def may_submit(
    store: ResultStore, account: int | None, benchmark: str, submission: Submission | None = None
) -> Allowance:
    """Whether an account may have a submission scored on a benchmark now.

    Each that it has handed in during the period counts, whatever became of it.

    Args:
        store: the store of results.
        account: the number of the account; None, on this machine, may always.
        benchmark: the identifier.
        submission: the one that is asked for, if it is handed in already: then those before it count.
    """
    protection = protection_of(store, benchmark)
    if account is None or protection is None:
        return Allowance(1, None, "")
    period = timedelta(days=protection.period_days)
    times = [
        datetime.fromisoformat(each.created)
        for each in submissions(store, account)
        if "model" in each.kinds
        and (submission is None or (each.id != submission.id and each.created <= submission.created))
    ]
    asked = _now() if submission is None else datetime.fromisoformat(submission.created)
    used = sorted(time for time in times if time > asked - period)
    left = protection.limit_per_period - len(used)
    if left > 0:
        return Allowance(left, None, "")
    begins = used[-protection.limit_per_period] + period
    reason = f"{benchmark} is scored for {protection.limit_per_period} submissions of an account in "
    reason += f"{protection.period_days} days: the next may be from {begins:%Y-%m-%d %H:%M} UTC"
    return Allowance(0, begins.isoformat(), reason)


def ladder(best: Score | None, new: Score, tries: int = 1) -> bool:
    r"""Whether a new score takes the place of the best, as it is better than chance explains.

    Args:
        best: the best so far; None if there is none.
        new: the new one.
        tries: how many scores have been compared so far, with this one.

    Returns:
        Whether the difference is more than :math:`1 + \sqrt{2 \ln n}` of its standard errors, of n tries. It is that of
        paired draws or units, where both scores have the same; else the larger of the two scores, and without any, no
        difference is known to be more than chance.

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
    """What an account may be shown of a score.

    Args:
        store: the store of results, which has the score.
        account: the number of the account; None on this machine.
        score: the score.
        key: its key in the store.

    Returns:
        The score, rounded, where it moves the ladder; else the best that was shown before, or NaN if there is none. Of
        a benchmark that is not private, the score.
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
            else:  # unless another has written meanwhile
                as_read = _shown.score_key == row["score_key"], _shown.tries == row["tries"]
                is_written = connection.execute(update(tables.shown).where(*own, *as_read).values(new)).rowcount
        if is_written:
            return new["shown"] if "shown" in new or row is None else row["shown"]


def public_columns(score: Score, protection: Protection, shown: float) -> Mapping[str, Any]:
    """What of a score on a private benchmark may be published: no values of units, nothing finer than is shown.

    Args:
        score: the score.
        protection: of its benchmark.
        shown: what :func:`show_score` gives.

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
    """The best score so far; what was shown of it, where it was removed."""
    try:
        return store.score(row["score_key"])
    except KeyError:
        return Score(row["shown"], error=like.error)


def _now() -> datetime:
    return datetime.now(UTC)
