"""Accounts for submissions over a network. An operator adds them, and a token is the only credential."""

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import RowMapping, insert, select, update

from bsjax.core.messages import some
from bsjax.labelled.plain_values import to_plain
from bsjax.results import ResultStore, tables
from bsjax.results.database import alone_in

_NAME = re.compile("[A-Za-z0-9._-]{1,40}")
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")
_BYTES_OF_TOKEN = 32
_of = tables.accounts.c


@dataclass(frozen=True)
class Account:
    """An account that may submit over a network.

    Attributes:
        id: number of the account.
        name: name of the account.
        email: address of the owner.
        is_operator: whether the account may review submissions and see those of all accounts.
        created, revoked: times of creation and revocation, ISO 8601 in UTC; ``revoked`` is None while the token is
            valid.
        limits: limits of this account that differ from the default.
    """

    id: int
    name: str
    email: str | None
    is_operator: bool
    created: str
    revoked: str | None
    limits: Mapping[str, Any]


def add_account(
    store: ResultStore,
    name: str,
    operator: bool = False,
    email: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> str:
    """Add an account, or give a revoked account a new token.

    Args:
        store: the store of results.
        name: name of up to 40 letters, digits, and ``-``, ``_``, ``.``.
        operator: whether the account may review submissions.
        email: address of the owner.
        limits: limits of this account that differ from the default; must be serialisable as JSON.

    Returns:
        The token. Only its hash is stored: to replace a lost token, revoke the account and add it again.

    Raises:
        ValueError: the name or address is invalid, or the name is taken.
        OSError, ConnectionError, TimeoutError: the store cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     token = add_account(store, "lab")
        ...     account_of(store, token).name, account_of(store, "another")
        ('lab', None)
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"the name of an account is up to 40 letters, digits, and - _ . without spaces, got {name!r}")
    if email is not None and not _EMAIL.fullmatch(email):
        raise ValueError(f"expected an address such as doe@lab.org, got {email!r}")
    token = secrets.token_urlsafe(_BYTES_OF_TOKEN)
    row = {"token_hash": _hashed(token), "email": email, "is_operator": operator, "revoked": None}
    row["limits"] = to_plain(dict(limits or {}), "the limits of the account")
    with store.writing() as connection:
        alone_in(connection, tables.accounts)
        there = connection.execute(select(_of.revoked).where(_of.name == name)).first()
        if there is None:
            connection.execute(insert(tables.accounts).values(name=name, created=_now(), **row))
        elif there.revoked is None:
            raise ValueError(f"there is an account {name!r}: revoke it first to give it a new token")
        else:
            connection.execute(update(tables.accounts).where(_of.name == name).values(row))
    return token


def account_of(store: ResultStore, token: str) -> Account | None:
    """Find the account of a token; None if the token is unknown or revoked.

    The look-up uses only the hash, so its duration reveals nothing about valid tokens.
    """
    asked = select(tables.accounts).where(_of.token_hash == _hashed(token), _of.revoked.is_(None))
    with store.reading() as connection:
        row = connection.execute(asked).mappings().first()
    return None if row is None else _as_account(row)


def accounts(store: ResultStore) -> list[Account]:
    """List all accounts, including revoked ones, sorted by name."""
    with store.reading() as connection:
        rows = connection.execute(select(tables.accounts).order_by(_of.name)).mappings().all()
    return [_as_account(row) for row in rows]


def revoke(store: ResultStore, name: str) -> None:
    """Invalidate the token of an account. Its submissions are kept.

    Raises:
        ValueError: there is no such account, or it is already revoked.
    """
    with store.writing() as connection:
        asked = update(tables.accounts).where(_of.name == name, _of.revoked.is_(None)).values(revoked=_now())
        n_revoked = connection.execute(asked).rowcount
    if not n_revoked:
        valid = [account.name for account in accounts(store) if account.revoked is None]
        raise ValueError(f"there is no valid account {name!r}; there are: {some(valid) or 'none'}")


def _as_account(row: RowMapping) -> Account:
    return Account(**{name: row[name] for name in Account.__dataclass_fields__})


def _hashed(token: str) -> str:
    # A token from outside may contain lone surrogates, which strict UTF-8 cannot encode.
    return hashlib.sha256(token.encode(errors="backslashreplace")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat()
