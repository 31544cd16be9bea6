"""The S3 server of the tests of data, and a machine on which nothing else is set."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.s3_server import Relay, s3_client, s3_server

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
def relay(s3_address: str, monkeypatch: pytest.MonkeyPatch, brainio_home: Path) -> Iterator[Relay]:
    """The way to that server that bsjax takes in this test, with credentials, an empty cache and one attempt."""
    for variable in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    relay = Relay(s3_address)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", relay.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    yield relay
    relay.close()


@pytest.fixture
def bucket(s3: Any) -> str:
    """A new bucket without versions."""
    name = f"bucket-{next(_numbers)}"
    s3.create_bucket(Bucket=name)
    return name
