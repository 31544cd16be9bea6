"""Accounts: a token is shown once, kept nowhere, and valid until it is revoked."""

import pytest
import sqlalchemy as sa

from bsjax.results import tables
from bsjax.submission.accounts import account_of, accounts, add_account, revoke


def test_a_token_is_of_its_account_alone_and_kept_nowhere(store):
    tokens = {name: add_account(store, name, operator=name == "boss") for name in ("lab", "boss", "a.b-c_1")}
    assert len(set(tokens.values())) == 3 and min(map(len, tokens.values())) >= 43
    for name, token in tokens.items():
        found = account_of(store, token)
        assert found and (found.name, found.is_operator, found.revoked) == (name, name == "boss", None)
    for wrong in ("", "x", tokens["lab"][:-1], tokens["lab"] + "\n", "\ud800", "a\0b"):
        assert account_of(store, wrong) is None
    with store.reading() as connection:
        kept = str(connection.execute(sa.select(tables.accounts)).all())
    assert not any(token in kept for token in tokens.values())
    assert [account.name for account in accounts(store)] == ["a.b-c_1", "boss", "lab"]


def test_a_token_that_is_revoked_is_valid_no_more_and_another_can_be_had(store):
    first = add_account(store, "lab", email="doe@lab.org", limits={"uploads": 3})
    account = account_of(store, first)
    assert account and (account.email, account.limits) == ("doe@lab.org", {"uploads": 3})
    with pytest.raises(ValueError, match="there is an account 'lab': revoke it first"):
        add_account(store, "lab")
    revoke(store, "lab")
    assert account_of(store, first) is None and accounts(store)[0].revoked
    for name in ("lab", "nobody"):
        with pytest.raises(ValueError, match=f"no valid account '{name}'; there are: none"):
            revoke(store, name)
    again = account_of(store, add_account(store, "lab"))
    assert again and again.id == account.id and account_of(store, first) is None


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a\n", "é", "x" * 41, "<b>", "\x1b[31m"])
def test_names_and_addresses_that_are_none_are_refused(name, store):
    with pytest.raises(ValueError, match="the name of an account is up to 40 letters"):
        add_account(store, name)
    with pytest.raises(ValueError, match="expected an address such as"):
        add_account(store, "lab", email=f"{name}@lab.org\nBcc: all@lab.org")
    assert accounts(store) == []
