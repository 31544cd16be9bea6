"""Reading of scores from a store, one or many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal

from sqlalchemy import select

from bsjax.core.discovery import one_line
from bsjax.labelled import Score
from bsjax.results import tables
from bsjax.results.database import Readable, askable
from bsjax.results.documents import named_values, score_of

# Blobs of raw values and draws that are cached between scores.
_KEPT_PARTS = 256
_IS_DAMAGE = (ValueError, KeyError, TypeError, AttributeError)


def read_scores(
    store: Readable, keys: Iterable[str], raw_values: bool | Literal["draws"] = True
) -> Iterator[tuple[str, Score]]:
    """Read the scores with these keys; yields key and score, and skips keys that are not scores.

    Args:
        store: the store.
        keys: of scores.
        raw_values: whether to read unaggregated values and values in draws; "draws" reads the latter alone.

    Raises:
        ValueError: a score is damaged.
        OSError, ConnectionError, TimeoutError: the store cannot be read.

    Example:
        >>> from bsjax.results import ResultStore
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add(Score(0.5), model="pixels", benchmark="Doe2026-pls")
        ...     [float(score) for _, score in read_scores(store, [key, "0" * 32])]
        [0.5]
    """
    alone = raw_values == "draws"
    return _read(store, keys, lambda content, raw: score_of(content, raw if raw_values else lambda digest: None, alone))


def read_documents(store: Readable, keys: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the content of scores as plain values; yields key and content, and skips keys that are not scores.

    For hundreds of thousands of scores, this is much faster than building score objects. Raw values are not read.

    Raises:
        ValueError: a score is damaged.
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
    return _read(store, keys, lambda content, raw: content)


def having_values(store: Readable, keys: Iterable[str]) -> list[str]:
    """The keys of scores that have raw values or draws in the store; the values themselves are not read.

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
    of, there = tables.raw_values.c, set()
    with store.reading() as connection:
        for part in askable(digest for digests in named.values() for digest in digests):
            there.update(connection.execute(select(of.digest).where(of.digest.in_(part))).scalars())
    return [key for key, digests in named.items() if digests & there]


def _read(store: Readable, keys: Iterable[str], read: Callable[[Any, Any], Any]) -> Iterator[tuple[str, Any]]:
    of, parts = tables.scores.c, tables.raw_values.c
    with store.reading() as connection:

        @lru_cache(maxsize=_KEPT_PARTS)
        def raw(digest: str) -> bytes | None:
            return connection.execute(select(parts.content).where(parts.digest == digest)).scalar()

        for part in askable(keys):
            for key, document in connection.execute(select(of.key, of.document).where(of.key.in_(part))).all():
                try:
                    made = read(document, raw)
                except _IS_DAMAGE as error:
                    where = store.url.render_as_string()
                    raise ValueError(
                        f"the score {key} in {where} cannot be read, as the store is damaged: {one_line(error)}"
                    ) from error
                yield key, made
