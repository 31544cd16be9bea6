"""The tables of a store of results.

A number that is NaN is NULL, and the column ``state`` says so; times are text, ISO 8601 in UTC, so that the later is
the greater; digests are 32 hexadecimal digits. What people have written may hold any character, see :class:`Words`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Double, Integer, String, Text

LARGEST = 2**31 - 1
"""What whole numbers are at most in a column of any database."""

# What databases do not take in text, NUL and halves of pairs of surrogates, and what announces one of these.
_ANNOUNCES = "\x1a"
_NOT_TAKEN = re.compile(f"[\0{_ANNOUNCES}\ud800-\udfff]")
_WRITTEN = re.compile(f"{_ANNOUNCES}([0-9a-f]{{4}})")


class Words(sa.TypeDecorator[str]):
    """Text of any characters: those that databases do not take are written as their numbers, and come back."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else _NOT_TAKEN.sub(lambda found: f"{_ANNOUNCES}{ord(found[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        if value is None or _ANNOUNCES not in value:
            return value
        return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), value)


def moment(time: str | datetime, local: bool = False) -> datetime:
    """A time, in UTC; ``isoformat`` gives what the tables have.

    Args:
        time: the time, also as text in ISO 8601.
        local: whether one without a zone is in that of this machine, and not in UTC.

    Raises:
        ValueError: it is none.

    Example:
        >>> moment("2026-02-14").isoformat(), moment("2026-02-14T12:00+02:00").isoformat()
        ('2026-02-14T00:00:00+00:00', '2026-02-14T10:00:00+00:00')
    """
    try:
        found = datetime.fromisoformat(time) if isinstance(time, str) else time
        return (found.replace(tzinfo=UTC) if found.tzinfo is None and not local else found).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"expected a time such as 2026-02-14 or 2026-02-14T12:30+01:00, got {time!r}") from error


metadata = sa.MetaData()


def _table(name: str, *columns: Any) -> sa.Table:
    return sa.Table(name, metadata, *columns)


def _of_a_run() -> tuple[Any, ...]:
    """Of what comes of a cell: the run, the name of the pair in it, and the digest of all that decides the score; NULL
    outside of a grid. A run has a task once, also where two processes have computed it.
    """
    run = Column("run_id", String(32), sa.ForeignKey("runs.id"))
    times = Column("started", String(32)), Column("seconds", Double)
    return run, Column("task", Words), Column("cell", Words), *times, sa.UniqueConstraint("run_id", "task")


# No key refers to a name: what is renamed keeps its scores.
models = _table(
    "models",
    Column("id", Integer, primary_key=True),
    Column("identifier", Words, nullable=False),
    # Of weights and code; "" where it is not known.
    Column("digest", Words, nullable=False),
    # What else is known: visual degrees, layers of regions, number of parameters.
    Column("facts", sa.JSON, nullable=False),
    sa.UniqueConstraint("identifier", "digest"),
)

benchmarks = _table(
    "benchmarks",
    Column("id", Integer, primary_key=True),
    Column("identifier", Words, nullable=False),
    Column("version", Integer, nullable=False),
    Column("parent", Words, nullable=False),
    # What its row says.
    Column("facts", sa.JSON, nullable=False),
    sa.UniqueConstraint("identifier", "version"),
)

runs = _table(
    "runs",
    Column("id", String(32), primary_key=True),
    Column("started", String(32), nullable=False),
    Column("ended", String(32)),
    Column("n_cells", Integer, nullable=False),
    # The machine, the versions of packages, and what was asked for.
    Column("facts", sa.JSON, nullable=False),
)

# A score is never changed: scoring again adds another.
scores = _table(
    "scores",
    Column("id", Integer, primary_key=True),
    # The digest of all that the score says.
    Column("key", String(32), nullable=False, unique=True),
    Column("model_id", Integer, sa.ForeignKey("models.id"), nullable=False),
    Column("benchmark_id", Integer, sa.ForeignKey("benchmarks.id"), nullable=False),
    *_of_a_run(),
    # "scored", "undefined" (NaN) or "resolved" (in time, so that it is no single number).
    Column("state", String(10), nullable=False),
    # "low" and "high" are the ends of its interval of 95 %.
    *(
        Column(name, Double)
        for name in ("score", "error", "low", "high", "raw", "raw_error", "ceiling", "ceiling_error")
    ),
    # In words what kind its interval is, and over what: "t over stimuli".
    Column("interval", Words),
    Column("n_units", Integer),
    # The most bytes that the process held meanwhile, where that is told.
    Column("memory", Double),
    # Why it is undefined, where that is known.
    Column("reason", Words),
    # What was read to make it, with states and digests (see ``core.identity.opened``); NULL where nobody has looked.
    Column("opened", sa.JSON(none_as_null=True)),
    # All that the score says, as compressed JSON, with the digests of raw values in their place.
    Column("document", sa.LargeBinary, nullable=False),
    sa.Index("scores_of_cells", "cell"),
    sa.Index("scores_of_pairs", "benchmark_id", "model_id"),
)

# What scores and ceilings are aggregates of, and values in draws (see ``documents``); it may be left out.
raw_values = _table(
    "raw_values",
    Column("digest", String(32), primary_key=True),
    Column("content", sa.LargeBinary, nullable=False),
)

failures = _table(
    "failures",
    Column("id", Integer, primary_key=True),
    Column("key", String(32), nullable=False, unique=True),
    # By name: a model that cannot be built has no digest, nor a benchmark a version.
    Column("model", Words, nullable=False),
    Column("benchmark", Words, nullable=False),
    *_of_a_run(),
    # The class of the error, and its text in one line.
    Column("kind", Words, nullable=False),
    Column("error", Words, nullable=False),
    Column("log", Words, nullable=False),
)

# Who computes what at the moment, see :mod:`bsjax.results.leases`.
leases = _table(
    "leases",
    Column("key", Words, primary_key=True),
    # The run that computes it.
    Column("owner", Words, nullable=False),
    # The process that is at it: its machine and its number there.
    Column("worker", Words, nullable=False),
    # In seconds since 1970, by the clock of the database.
    Column("expires", Double, nullable=False),
)

# What is handed in, by whom, and how far it is, see :mod:`bsjax.submission.queue`.

accounts = _table(
    "accounts",
    Column("id", Integer, primary_key=True),
    Column("name", Words, nullable=False, unique=True),
    # SHA-256 of the token, which itself is nowhere.
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("email", Words),
    Column("is_operator", Boolean, nullable=False),
    Column("created", String(32), nullable=False),
    Column("revoked", String(32)),
    Column("limits", sa.JSON, nullable=False),
)

submissions = _table(
    "submissions",
    Column("id", String(32), primary_key=True),
    # NULL of what was handed in on this machine.
    Column("account_id", Integer, sa.ForeignKey("accounts.id")),
    Column("name", Words, nullable=False),
    # Of what it registers: "model", "benchmark", ...
    Column("kinds", sa.JSON, nullable=False),
    # The digest of the names and bytes of its files, and where they are.
    Column("content", String(64), nullable=False),
    Column("folder", Words, nullable=False),
    Column("visibility", String(10), nullable=False),
    # The state, since when it is so, and why.
    Column("state", String(10), nullable=False),
    Column("since", String(32), nullable=False),
    Column("reason", Words, nullable=False),
    Column("created", String(32), nullable=False),
    # The one before it of the same account and name.
    Column("previous", String(32)),
    Column("facts", sa.JSON, nullable=False),
    sa.Index("submissions_of_accounts", "account_id", "created"),
)

steps = _table(
    "steps",
    Column("id", Integer, primary_key=True),
    Column("submission_id", String(32), sa.ForeignKey("submissions.id"), nullable=False),
    Column("name", Words, nullable=False),
    Column("position", Integer, nullable=False),
    Column("state", String(10), nullable=False),
    Column("since", String(32), nullable=False),
    Column("reason", Words, nullable=False),
    Column("attempt", Integer, nullable=False),
    # Bytes: the limit that it is run under, the smaller one that it had before, and the most that it was seen to hold.
    Column("memory_class", BigInteger, nullable=False),
    Column("outgrown", BigInteger),
    Column("peak", BigInteger),
    Column("started", String(32)),
    Column("seconds", Double),
    Column("log", Words, nullable=False),
    # The worker that has it until a time, as a lease; its process; and the workers that died at it.
    Column("owner", Words),
    Column("worker", Words),
    Column("expires", Double),
    Column("lost", sa.JSON, nullable=False),
    sa.UniqueConstraint("submission_id", "name"),
    sa.Index("steps_by_state", "state"),
)

# Private benchmarks, see :mod:`bsjax.submission.protection`.

protected = _table(
    "protected",
    # An identifier or a glob.
    Column("benchmark", Words, primary_key=True),
    Column("stimuli_private", Boolean, nullable=False),
    Column("decimals", Integer, nullable=False),
    Column("limit_per_period", Integer, nullable=False),
    Column("period_days", Integer, nullable=False),
    Column("created", String(32), nullable=False),
)

# What an account is shown of its best score on a private benchmark.
shown = _table(
    "shown",
    # 0 of what was handed in on this machine.
    Column("account_id", Integer, primary_key=True, autoincrement=False),
    Column("benchmark", Words, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("score_key", String(32), nullable=False),
    Column("shown", Double, nullable=False),
    # How many scores it is the best of.
    Column("tries", Integer, nullable=False),
    Column("since", String(32), nullable=False),
)
