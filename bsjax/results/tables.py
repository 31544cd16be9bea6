"""The tables of a store of results.

A number that is NaN is NULL, and the column ``state`` says so; times are text, ISO 8601 in UTC, so that the later is
the greater; digests are 32 hexadecimal digits. What people have written may hold any character, see :class:`Words`.
"""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

LARGEST = 2**31 - 1
"""What whole numbers are at most in a column of any database."""

# What databases do not take in text, NUL and halves of pairs of surrogates, and what announces one of these.
_ANNOUNCES = "\x1a"
_NOT_TAKEN = re.compile(f"[\0{_ANNOUNCES}\ud800-\udfff]")
_WRITTEN = re.compile(f"{_ANNOUNCES}([0-9a-f]{{4}})")


class Words(TypeDecorator[str]):
    """Text of any characters: those that databases do not take are written as their numbers, and come back."""

    impl = Text
    cache_ok = True

    @property
    def python_type(self) -> type:
        return str

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else _NOT_TAKEN.sub(lambda found: f"{_ANNOUNCES}{ord(found[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else unescaped(value)


def unescaped(text: str) -> str:
    """What :class:`Words` was given, of what stands in the database.

    Example:
        >>> unescaped("a\\x1a0000b") == "a\\0b"
        True
    """
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), text) if _ANNOUNCES in text else text


# There are as many words of intervals as there are scores, nearly all of them these: a few letters stand for each. They
# are never changed, and are no other words, as those have "over" in them.
_KINDS = {"t": "t", "percentile": "p", "BCa": "b", "studentised": "s"}
_FACTORS = {"stimuli": "s", "neuroids": "n", "subjects": "p"}
_LETTERS = {
    f"{kind} over {' and '.join(over)}": letter + "".join(_FACTORS[name] for name in over)
    for kind, letter in _KINDS.items()
    for n in range(1, len(_FACTORS) + 1)
    for over in permutations(_FACTORS, n)
}
_INTERVALS = {letters: words for words, letters in _LETTERS.items()}


class IntervalWords(Words):
    """What kind an interval is and over what, such as "t over stimuli"; the usual ones in a few letters."""

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return super().process_bind_param(None if value is None else _LETTERS.get(value, value), dialect)

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else interval_words(value)


def interval_words(text: str) -> str:
    """What :class:`IntervalWords` was given, of what stands in the database.

    Example:
        >>> interval_words("bsp"), interval_words("t over fibres")
        ('BCa over stimuli and subjects', 't over fibres')
    """
    return _INTERVALS.get(text) or unescaped(text)


metadata = MetaData()

# No key refers to a name: what is renamed keeps its scores.
models = Table(
    "models",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("identifier", Words, nullable=False),
    # Of weights and code; "" where it is not known.
    Column("digest", Words, nullable=False),
    # What else is known: visual degrees, layers of regions, number of parameters.
    Column("facts", JSON, nullable=False),
    UniqueConstraint("identifier", "digest"),
)

benchmarks = Table(
    "benchmarks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("identifier", Words, nullable=False),
    Column("version", Integer, nullable=False),
    Column("parent", Words, nullable=False),
    # What its row says.
    Column("facts", JSON, nullable=False),
    UniqueConstraint("identifier", "version"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("started", String(32), nullable=False),
    Column("ended", String(32)),
    Column("n_cells", Integer, nullable=False),
    # The machine, the versions of packages, and what was asked for.
    Column("facts", JSON, nullable=False),
)

# A score is never changed: scoring again adds another.
scores = Table(
    "scores",
    metadata,
    Column("id", Integer, primary_key=True),
    # The digest of all that the score says.
    Column("key", String(32), nullable=False, unique=True),
    Column("model_id", Integer, ForeignKey("models.id"), nullable=False),
    Column("benchmark_id", Integer, ForeignKey("benchmarks.id"), nullable=False),
    Column("run_id", String(32), ForeignKey("runs.id")),
    # The name of the pair in its run, and the digest of all that decides the score; NULL outside of a grid.
    Column("task", Words),
    Column("cell", Words),
    # "scored", "undefined" (NaN) or "resolved" (in time, so that it is no single number).
    Column("state", String(10), nullable=False),
    Column("score", Double),
    Column("error", Double),
    Column("raw", Double),
    Column("raw_error", Double),
    Column("ceiling", Double),
    Column("ceiling_error", Double),
    Column("n_units", Integer),
    Column("started", String(32)),
    Column("seconds", Double),
    # The most bytes that the process held meanwhile, where that is told.
    Column("memory", Double),
    # Why it is undefined, where that is known.
    Column("reason", Words),
    # The score, without what it shares with others and without what it is an aggregate of.
    Column("document", LargeBinary, nullable=False),
    # The ends of its interval of 95 %, and in words what kind it is and over what: "t over stimuli".
    Column("low", Double),
    Column("high", Double),
    Column("interval", IntervalWords),
    # A run has a task once, also where two processes have computed it.
    UniqueConstraint("run_id", "task"),
    Index("scores_of_cells", "cell"),
    Index("scores_of_pairs", "benchmark_id", "model_id"),
)

# What several scores have in common: the ceiling, formulas, and of the provenance what is the benchmark's.
shared_parts = Table(
    "shared_parts",
    metadata,
    Column("digest", String(32), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

# What scores and ceilings are aggregates of; it may be left out.
raw_values = Table(
    "raw_values",
    metadata,
    Column("digest", String(32), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

failures = Table(
    "failures",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(32), nullable=False, unique=True),
    # By name: a model that cannot be built has no digest, nor a benchmark a version.
    Column("model", Words, nullable=False),
    Column("benchmark", Words, nullable=False),
    Column("run_id", String(32), ForeignKey("runs.id")),
    Column("task", Words),
    Column("cell", Words),
    # The class of the error, and its text in one line.
    Column("kind", Words, nullable=False),
    Column("error", Words, nullable=False),
    Column("log", Words, nullable=False),
    Column("started", String(32)),
    Column("seconds", Double),
    UniqueConstraint("run_id", "task"),
)

# Tasks that a process is at, so that one which is killed can be told from one that has not begun.
in_flight = Table(
    "in_flight",
    metadata,
    Column("run_id", String(32), ForeignKey("runs.id"), primary_key=True),
    Column("task", Words, primary_key=True),
    Column("worker", Words, nullable=False),
    Column("started", String(32), nullable=False),
)

# By what can be read without building a model or loading data, the digest that it had when that was done.
known_digests = Table(
    "known_digests",
    metadata,
    Column("kind", Words, primary_key=True),
    Column("fingerprint", Words, primary_key=True),
    Column("digest", Words, nullable=False),
)
