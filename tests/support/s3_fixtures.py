"""The S3 server of the tests, and a machine on which nothing else is set."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.s3_server import SETTINGS, Relay, s3_client, s3_server

_numbers = itertools.count()


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    """A real S3 server; each test uses buckets of its own."""
    with s3_server() as address:
        yield address


@pytest.fixture(scope="session")
def s3(s3_address: str) -> Any:
    """A client that may do anything on that server."""
    return s3_client(s3_address)


@pytest.fixture
def brainio_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    home = tmp_path / "brainio"
    monkeypatch.setenv("BRAINIO_HOME", str(home))
    return home


@pytest.fixture
def machine(s3_address: str, monkeypatch: pytest.MonkeyPatch, brainio_home: Path) -> pytest.MonkeyPatch:
    """Credentials for that server, an empty cache, one attempt, and nothing else that is set."""
    for variable in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    for name, value in {**SETTINGS, "AWS_ENDPOINT_URL_S3": s3_address}.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.fixture
def relay(s3_address: str, machine: pytest.MonkeyPatch) -> Iterator[Relay]:
    """The way to that server that bsjax takes in this test, on that machine."""
    relay = Relay(s3_address)
    machine.setenv("AWS_ENDPOINT_URL_S3", relay.address)
    yield relay
    relay.close()


@pytest.fixture
def bucket(s3: Any) -> str:
    """A new bucket without versions."""
    name = f"bucket-{next(_numbers)}"
    s3.create_bucket(Bucket=name)
    return name
