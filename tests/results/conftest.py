"""What tests of results share: a server, and places for stores, in SQLite and in PostgreSQL."""

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bsjax.results import ResultStore
from tests.support.forked import start  # noqa: F401 (a fixture)
from tests.support.postgres import Server, Unavailable, server

DATABASES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server that is up. In continuous integration there must be one."""
    try:
        with server() as found:
            yield found
    except Unavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no PostgreSQL: {error}")


@pytest.fixture
def new_database(postgres: Server) -> Iterator[Callable[[], str]]:
    """Makes an empty database on the server, and gives its URL."""
    made: list[str] = []

    def make() -> str:
        made.append(f"test_{uuid.uuid4().hex}")
        postgres.run(f"CREATE DATABASE {made[-1]}")
        return postgres.url(made[-1])

    yield make
    for name in made:
        postgres.run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """The kind of database; who uses this is run for each."""
    return request.param


@pytest.fixture
def new_schema(postgres: Server) -> Iterator[str]:
    """The URL of an empty schema, which takes less time to make than a database."""
    name = f"test_{uuid.uuid4().hex}"
    postgres.run(f"CREATE SCHEMA {name}")
    yield f"{postgres.url()}&options=-csearch_path%3D{name}"
    postgres.run(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def place(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Where a store is to be, of each kind; there is none yet."""
    if database == "sqlite":
        return str(tmp_path / "results.db")
    return request.getfixturevalue("new_schema")


@pytest.fixture
def store(place: str) -> Iterator[ResultStore]:
    """An empty store of each kind."""
    with ResultStore(place) as made:
        yield made
