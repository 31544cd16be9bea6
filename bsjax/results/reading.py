"""Scores read out of a store, one or many at a time: the parts that several have in common are read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Table, select

from bsjax.core.discovery import one_line
from bsjax.labelled import Score
from bsjax.results import tables
from bsjax.results.database import askable
from bsjax.results.documents import named_values, plain_of, said_in, score_of

if TYPE_CHECKING:
    from bsjax.results.store import ResultStore

# So many rows are held at a time. Of more keys, all scores are asked for, and those that are wanted are picked.
_AT_ONCE = 500
# Raw values and draws take far more room than all else: so many of them are held for the next score.
_KEPT_PARTS = 256
_IS_DAMAGE = (ValueError, KeyError, TypeError, AttributeError)


class Parts:
    """What is kept beside scores: what several have in common, and raw values.

    Args:
        connection: to the database; it is open as long as parts are asked for.
    """

    def __init__(self, connection: Connection) -> None:
        def content(table: Table, digest: str) -> bytes | None:
            return connection.execute(select(table.c.content).where(table.c.digest == digest)).scalar()

        self._content = lru_cache(maxsize=_KEPT_PARTS)(content)

    def shared(self, digest: str) -> bytes:
        """What scores have in common, packed.

        Raises:
            ValueError: it is missing.
        """
        found = self._content(tables.shared_parts, digest)
        if found is None:
            raise ValueError(f"the part {digest} is missing")
        return found

    def raw(self, digest: str) -> bytes | None:
        """Raw values or values in draws, packed; None if they were not kept."""
        return self._content(tables.raw_values, digest)


def read_score(store: ResultStore, parts: Parts, key: str, document: bytes, raw_values: bool = True) -> Score:
    """The score of a row.

    Args:
        store: it is named where the score is damaged.
        parts: of the store.
        key, document: of the row.
        raw_values: whether to read what it is an aggregate of, and its values in draws.

    Raises:
        ValueError: it is damaged.
    """
    try:
        return score_of(document, parts.shared, parts.raw if raw_values else lambda digest: None)
    except _IS_DAMAGE as error:
        raise _damaged(store, key, error) from error


def read_scores(store: ResultStore, keys: Iterable[str]) -> Iterator[tuple[str, Score]]:
    """Key and score, with raw values and draws, of those of the keys that are scores.

    Raises:
        ValueError: one is damaged.
        OSError, ConnectionError, TimeoutError: the store cannot be read.

    Example:
        >>> from bsjax.results import ResultStore
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add(Score(0.5), model="pixels", benchmark="Doe2026-pls")
        ...     [float(score) for _, score in read_scores(store, [key, "0" * 32])]
        [0.5]
    """
    with store.reading() as connection:
        parts = Parts(connection)
        for row in _rows(connection, keys):
            yield row.key, read_score(store, parts, row.key, row.document)


def read_documents(store: ResultStore, keys: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and what the score says, as plain values, of those of the keys that are scores.

    Of hundreds of thousands of scores this takes a fraction of what making the scores would; raw values are not read.

    Raises:
        ValueError: one is damaged.
        OSError, ConnectionError, TimeoutError: the store cannot be read.

    Example:
        >>> from bsjax.results import ResultStore
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add(Score(0.5, provenance={"dtype": "float64"}), model="pixels", benchmark="Doe2026-pls")
        ...     [(_, said)] = read_documents(store, [key])
        >>> said["value"], said["provenance"]["dtype"]
        (0.5, 'float64')
    """
    with store.reading() as connection:
        parts = Parts(connection)
        # Not bounded: one part of each benchmark and way of computing it, which all its scores refer to.
        shared = lru_cache(maxsize=None)(lambda digest: plain_of(parts.shared(digest)))
        for row in _rows(connection, keys):
            try:
                said = said_in(row.document, shared)
            except _IS_DAMAGE as error:
                raise _damaged(store, row.key, error) from error
            yield row.key, said


def having_values(store: ResultStore, keys: Iterable[str]) -> list[str]:
    """Those of the keys whose scores have raw values or draws in the store, which is seen without reading these.

    Raises:
        ValueError: a score is damaged.
        OSError, ConnectionError, TimeoutError: the store cannot be read.

    Example:
        >>> from bsjax.results import ResultStore
        >>> import tempfile, xarray
        >>> score = Score(0.5, raw=xarray.DataArray([0.4, 0.6], dims="subject"))
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     with_raw, without = [store.add(each, model=name, benchmark="Doe2026-pls")
        ...                          for name, each in {"pixels": score, "hmax": Score(0.4)}.items()]
        ...     having_values(store, [with_raw, without]) == [with_raw]
        True
    """
    named = {key: named_values(said) for key, said in read_documents(store, keys)}
    of, wanted = tables.raw_values.c, sorted({digest for digests in named.values() for digest in digests})
    there: set[str] = set()
    with store.reading() as connection:
        for part in askable(wanted):
            there.update(connection.execute(select(of.digest).where(of.digest.in_(part))).scalars())
    return [key for key, digests in named.items() if digests & there]


def _rows(connection: Connection, keys: Iterable[str]) -> Iterator[Row[Any, Any]]:
    wanted, of = set(keys), tables.scores.c
    asked = select(of.key, of.document)
    if len(wanted) <= _AT_ONCE:
        asked = asked.where(of.key.in_(sorted(wanted)))
    for row in connection.execution_options(stream_results=True, max_row_buffer=_AT_ONCE).execute(asked):
        if row.key in wanted:
            yield row


def _damaged(store: ResultStore, key: str, error: Exception) -> ValueError:
    where = store.url.render_as_string()
    return ValueError(f"the score {key} in {where} cannot be read, as the store is damaged: {one_line(error)}")
