"""The tables of a store of results.

NaN is stored as NULL, and the column ``state`` gives the reason. Times are text, ISO 8601 in UTC, so that they sort by
time. Digests are 32 hexadecimal digits. Names and free text may hold any character, see :class:`Words`.
"""

import json
import re
import zlib
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Double, Integer, String, Text

VERSION = "0005"
"""The version of the tables, which the store says. A store of another version is exported and imported."""

LARGEST = 2**31 - 1
"""The largest integer that a column can hold in every database."""

# Characters that databases reject in text, NUL and lone surrogates, and the escape character that replaces them.
_ANNOUNCES = "\x1a"
_NOT_TAKEN = re.compile(f"[\0{_ANNOUNCES}\ud800-\udfff]")
_WRITTEN = re.compile(f"{_ANNOUNCES}([0-9a-f]{{4}})")


class Words(sa.TypeDecorator[str]):
    """Text of any characters; those that databases reject are escaped when written, and restored when read."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else _NOT_TAKEN.sub(lambda found: f"{_ANNOUNCES}{ord(found[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        if value is None or _ANNOUNCES not in value:
            return value
        return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), value)


class Packed(sa.TypeDecorator[bytes]):
    """Bytes, compressed in the database; empty if they are damaged there, so that the reader can name the score."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Any) -> bytes | None:
        return None if value is None else zlib.compress(value)

    def process_result_value(self, value: bytes | None, dialect: Any) -> bytes | None:
        try:
            return None if value is None else zlib.decompress(value)
        except zlib.error:
            return b""


class PackedJSON(Packed):
    """A JSON object, compressed in the database to a quarter of its size; empty if it is damaged there."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> bytes | None:
        return super().process_bind_param(json.dumps(value, allow_nan=False).encode(), dialect)

    def process_result_value(self, value: bytes | None, dialect: Any) -> Any:
        try:
            return json.loads(super().process_result_value(value, dialect) or b"{}")
        except ValueError:
            return {}


def moment(time: str | datetime, local: bool = False) -> datetime:
    """A time in UTC, whose ``isoformat`` is the format of the tables.

    Args:
        time: the time, or text in ISO 8601.
        local: whether a time without a zone is in local time rather than UTC.

    Raises:
        ValueError: it is not a time.

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
    """Columns of a cell's result: run, task within it, and digest of everything that determines the score.

    They are NULL outside a grid. A run has each task once, even if two processes computed it.
    """
    run = Column("run_id", String(32), sa.ForeignKey("runs.id"))
    times = Column("started", String(32)), Column("seconds", Double)
    return run, Column("task", Words), Column("cell", Words), *times, sa.UniqueConstraint("run_id", "task")


# Foreign keys refer to ids, not names, so that a renamed model keeps its scores.
models = _table(
    "models",
    Column("id", Integer, primary_key=True),
    Column("identifier", Words, nullable=False),
    # Digest of weights and code; "" if unknown.
    Column("digest", Words, nullable=False),
    # Further properties: visual degrees, layers of regions, number of parameters.
    Column("facts", sa.JSON, nullable=False),
    sa.UniqueConstraint("identifier", "digest"),
)

benchmarks = _table(
    "benchmarks",
    Column("id", Integer, primary_key=True),
    Column("identifier", Words, nullable=False),
    Column("version", Integer, nullable=False),
    Column("parent", Words, nullable=False),
    # The benchmark's row in the registry.
    Column("facts", sa.JSON, nullable=False),
    sa.UniqueConstraint("identifier", "version"),
)

runs = _table(
    "runs",
    Column("id", String(32), primary_key=True),
    Column("started", String(32), nullable=False),
    Column("ended", String(32)),
    Column("n_cells", Integer, nullable=False),
    # The machine, versions of packages, and arguments of the run.
    Column("facts", sa.JSON, nullable=False),
)

# Scores are never changed: scoring again adds another.
scores = _table(
    "scores",
    Column("id", Integer, primary_key=True),
    # The digest of the document.
    Column("key", String(32), nullable=False, unique=True),
    Column("model_id", Integer, sa.ForeignKey("models.id"), nullable=False),
    Column("benchmark_id", Integer, sa.ForeignKey("benchmarks.id"), nullable=False),
    *_of_a_run(),
    # "scored", "undefined" (NaN) or "resolved" (in time, not a single number).
    Column("state", String(10), nullable=False),
    # "low" and "high" are the ends of the 95 % interval.
    *(
        Column(name, Double)
        for name in ("score", "error", "low", "high", "raw", "raw_error", "ceiling", "ceiling_error")
    ),
    # Kind of the interval and what it generalises over: "t over stimuli".
    Column("interval", Words),
    Column("n_units", Integer),
    # Peak memory of the process in bytes, if known.
    Column("memory", Double),
    # Why it is undefined, if known.
    Column("reason", Words),
    # Files that were read for it, with states and digests (see ``core.identity.opened``); NULL if not recorded.
    Column("opened", sa.JSON(none_as_null=True)),
    # The score as JSON, with digests in place of raw values.
    Column("document", PackedJSON, nullable=False),
    sa.Index("scores_of_cells", "cell"),
    sa.Index("scores_of_pairs", "benchmark_id", "model_id"),
)

# Unaggregated values of scores and ceilings, and values in draws (see ``documents``); optional.
raw_values = _table(
    "raw_values",
    Column("digest", String(32), primary_key=True),
    Column("content", Packed, nullable=False),
)

failures = _table(
    "failures",
    Column("id", Integer, primary_key=True),
    Column("key", String(32), nullable=False, unique=True),
    # By name, because a model that cannot be built has no digest, and a benchmark no version.
    Column("model", Words, nullable=False),
    Column("benchmark", Words, nullable=False),
    *_of_a_run(),
    # The class of the exception, and its one-line message.
    Column("kind", Words, nullable=False),
    Column("error", Words, nullable=False),
    Column("log", Words, nullable=False),
)

# Cells that are being computed, see :mod:`bsjax.results.leases`.
leases = _table(
    "leases",
    Column("key", Words, primary_key=True),
    # The run that computes it.
    Column("owner", Words, nullable=False),
    # The process that computes it: machine and process id.
    Column("worker", Words, nullable=False),
    # Seconds since 1970, by the clock of the database.
    Column("expires", Double, nullable=False),
)

# Submissions, their accounts and their progress, see :mod:`bsjax.submission.queue`.

accounts = _table(
    "accounts",
    Column("id", Integer, primary_key=True),
    Column("name", Words, nullable=False, unique=True),
    # SHA-256 of the token, which is not stored.
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
    # NULL for local submissions.
    Column("account_id", Integer, sa.ForeignKey("accounts.id")),
    Column("name", Words, nullable=False),
    # Kinds of plugins that it registers: "model", "benchmark", ...
    Column("kinds", sa.JSON, nullable=False),
    # The digest of the names and contents of its files, and their folder.
    Column("content", String(64), nullable=False),
    Column("folder", Words, nullable=False),
    Column("visibility", String(10), nullable=False),
    # The state, the time it began, and its reason.
    Column("state", String(10), nullable=False),
    Column("since", String(32), nullable=False),
    Column("reason", Words, nullable=False),
    Column("created", String(32), nullable=False),
    # The previous submission with the same account and name.
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
    # In bytes: the memory limit, the previous smaller limit, and the observed peak.
    Column("memory_class", BigInteger, nullable=False),
    Column("outgrown", BigInteger),
    Column("peak", BigInteger),
    Column("started", String(32)),
    Column("seconds", Double),
    Column("log", Words, nullable=False),
    # The worker that holds the lease, its process and the expiry time; and the workers that died running it.
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

# The best score on a private benchmark as shown to an account.
shown = _table(
    "shown",
    # 0 for local submissions.
    Column("account_id", Integer, primary_key=True, autoincrement=False),
    Column("benchmark", Words, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("score_key", String(32), nullable=False),
    Column("shown", Double, nullable=False),
    # The number of scores among which it is the best.
    Column("tries", Integer, nullable=False),
    Column("since", String(32), nullable=False),
)
