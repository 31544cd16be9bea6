"""Private benchmarks: marks, limits, and a ladder that a thousand submissions do not climb by chance."""

import dataclasses
import itertools
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import sqlalchemy as sa
import xarray as xr

from bsjax import Score
from bsjax.results import ResultStore, tables
from bsjax.submission import queue
from bsjax.submission.accounts import account_of, add_account
from bsjax.submission.protection import (
    ladder,
    over_limit,
    protect,
    protection_of,
    protections,
    public_columns,
    show_score,
    unprotect,
)

NAME = "Doe2026.V4-pls"


def made(answers, truth):
    """The score of answers: how often they are right, with the values of each unit."""
    right = (answers == truth).astype(float)
    raw = xr.DataArray(right, {"neuroid_id": ("neuroid", np.arange(len(right)))}, ["neuroid"])
    about = {"benchmark": NAME, "benchmark_version": 1, "model": "m0"}
    return Score(right.mean(), error=right.std(ddof=1) / len(right) ** 0.5, raw=raw, provenance=about)


def plain(value, error=0.02, benchmark=NAME, version=1):
    return Score(value, error=error, provenance={"model": "m", "benchmark": benchmark, "benchmark_version": version})


# Marks.


def test_the_closest_mark_counts(store):
    assert protection_of(store, NAME) is None
    protect(store, "Doe2026.*", stimuli=True, decimals=1)
    protect(store, "*", limit=3, days=30)
    protect(store, "Odd[1]")
    assert [each.benchmark for each in protections(store)] == sorted(["*", "Doe2026.*", "Odd[1]"])
    found = protection_of(store, NAME)
    assert found and found.stimuli_private and found.decimals == 1
    found = protection_of(store, "Other")
    assert found and (found.limit_per_period, found.period_days, found.stimuli_private) == (3, 30, False)
    odd = protection_of(store, "Odd[1]")
    assert odd and odd.benchmark == "Odd[1]"
    protect(store, NAME, decimals=3)
    protect(store, NAME, decimals=4)
    found = protection_of(store, NAME)
    assert found and found.decimals == 4 and len(protections(store)) == 4
    unprotect(store, NAME)
    with pytest.raises(ValueError, match="is not protected; see `bsjax protect`"):
        unprotect(store, NAME)
    with pytest.raises(ValueError, match="expected decimals from 0 to 6"):
        protect(store, NAME, decimals=7)


# Limits.


def test_an_account_has_so_many_submissions_in_a_period(store, tmp_path):
    protect(store, NAME, limit=2, days=7)
    account, other = (account_of(store, add_account(store, name)).id for name in ("lab", "other"))

    def add(days_ago, kinds=("model",), account=account):
        made = queue.add(store, name="x", folder=tmp_path, content="", kinds=kinds, steps=["s"], account=account)
        created = (datetime.now(UTC) - timedelta(days=days_ago)).isoformat()
        with store.writing() as connection:
            of = tables.submissions
            connection.execute(sa.update(of).where(of.c.id == made.id).values(created=created))
        return queue.submission(store, made.id)

    add(12), add(1, kinds=("benchmark",)), add(1, account=other)
    first, second, third = add(3), add(1), add(0)
    queue.cancel(store, first.id)  # it may have been scored
    # What came later does not count.
    assert [over_limit(store, NAME, each) for each in (first, second)] == ["", ""]
    begins = datetime.now(UTC) + timedelta(days=4)
    said = f"{NAME} is limited to 2 submissions per account in 7 days: the next is possible from {begins:%Y-%m-%d}"
    assert over_limit(store, NAME, third).startswith(said) and over_limit(store, "Public", third) == ""
    assert over_limit(store, NAME, add(0, account=None)) == over_limit(store, NAME, add(0, account=other)) == ""


# The ladder.


def test_a_better_score_is_one_that_chance_does_not_explain():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1.0, 1.0], 200)
    base = np.where(rng.random(200) < 0.6, truth, -truth)
    wrong, right = np.flatnonzero(base != truth), np.flatnonzero(base == truth)

    def changed(n_better, n_worse=0):
        answers = base.copy()
        answers[[*wrong[:n_better], *right[:n_worse]]] *= -1
        return made(answers, truth)

    best = made(base, truth)
    assert ladder(None, best) and not ladder(best, best) and not ladder(best, changed(0, 3))
    # Paired, ten units of two hundred are many; one standard error of either score is seven units.
    assert ladder(best, changed(6)) and ladder(best, changed(10), tries=10)
    assert not ladder(best, changed(12, 10)) and not ladder(best, changed(6), tries=100)
    # Without units in common, it is the larger error that counts.
    assert ladder(plain(0.5), plain(0.53)) and not ladder(plain(0.5, error=0.04), plain(0.53))
    assert not ladder(plain(0.5, error=None), plain(0.9, error=None))
    assert not ladder(None, plain(math.nan))
    other = dataclasses.replace(changed(10), raw=changed(10).raw[:150])
    assert ladder(best, other) == (float(other) - float(best) > max(float(best.error), float(other.error)))


def test_the_ladder_has_the_level_that_it_says():
    """Of models that are no better, one in six is above one standard error."""
    rng, n = np.random.default_rng(1), 600
    truth = rng.choice([-1.0, 1.0], 300)
    moved = [ladder(*(made(rng.choice([-1.0, 1.0], 300), truth) for _ in range(2))) for _ in range(n)]
    assert abs(np.mean(moved) - 0.159) < 3 * (0.159 * 0.841 / n) ** 0.5


def as_boosting(show, truth, rng, n):
    """Keep random models by which the shown score rises, or is above chance; their majority is the last."""
    best, kept = show(rng.choice([-1.0, 1.0], len(truth))), []
    for _ in range(n - 2):
        model = rng.choice([-1.0, 1.0], len(truth))
        shown = show(model)
        if shown > max(best, 0.5) or (shown > 0.5 and shown != best):
            kept.append(model)
    final = np.sign(np.sum(kept, axis=0) + 0.5) if kept else rng.choice([-1.0, 1.0], len(truth))
    return show(final)


@pytest.mark.slow
def test_a_thousand_submissions_do_not_climb_the_ladder():
    """Whatever is made without the truth is right half of the time on fresh data."""
    n_units, rises = 400, {"ladder": [], "none": []}
    for seed, kind in itertools.product(range(2), rises):
        rng = np.random.default_rng(seed)
        truth = rng.choice([-1.0, 1.0], n_units)
        best, tries = None, 0

        def show(model, truth=truth, kind=kind):
            nonlocal best, tries
            tries += 1
            score = made(model, truth)
            if kind == "none" or ladder(best, score, tries):
                best = score
            return round(float(best), 3)

        shown = as_boosting(show, truth, rng, 1000)
        assert tries == 1000
        rises[kind].append((shown - 0.5) / (0.5 / n_units**0.5))
    assert abs(np.mean(rises["ladder"])) < 1 < 3 < np.mean(rises["none"])


# What is shown.


def test_what_is_shown_moves_by_the_ladder_alone(store):
    protect(store, NAME)

    def show(value, account=None, **how):
        score = plain(value, **how)
        return show_score(store, account, score, store.add(score))

    assert math.isnan(show(math.nan))
    assert show(0.5123) == 0.51 and show(0.5149) == 0.51 and show(math.nan) == 0.51
    assert show(0.5314) == 0.51  # by one error, and others were tried
    assert show(0.6789) == 0.68 and show(0.5) == 0.68 and show(0.6791) == 0.68
    with store.reading() as connection:
        [row] = connection.execute(sa.select(tables.shown)).mappings()
    assert (row["account_id"], row["benchmark"], row["shown"], row["tries"]) == (0, NAME, 0.68, 6)
    assert row["score_key"] == store.frame(latest=False).query("score == 0.6789")["key"].item()
    # Asked again for the best, nothing counts.
    assert show_score(store, None, store.score(row["score_key"]), row["score_key"]) == 0.68
    assert show(0.3, account=7) == 0.3 and show(0.2) == 0.68
    assert show(0.123456, benchmark="Public") == 0.123456
    # Another version of the benchmark is another benchmark, and a best that was removed is known by what was shown.
    assert show(0.4321, version=2) == 0.43
    store.remove(store.frame(latest=False).query("score == 0.4321")["key"].item())
    assert show(0.44, version=2) == 0.43 and show(0.7, version=2) == 0.7


def test_two_who_are_scored_at_once_do_not_lose_a_score(place):
    """Each sees what the other has written between its look and its word."""
    with ResultStore(place) as store, ResultStore(place) as other:
        protect(store, NAME)
        scores = [plain(value) for value in (0.5, 0.9, 0.7)]
        keys = [store.add(score) for score in scores]
        show_score(store, None, scores[0], keys[0])
        reading = store.reading
        looks = itertools.count(1)

        def and_then_the_other():
            # The first two are for the mark and for what is shown; then the score that is shown is read.
            if next(looks) == 3:
                assert show_score(other, None, scores[1], keys[1]) == 0.9
            return reading()

        store.reading = and_then_the_other
        assert show_score(store, None, scores[2], keys[2]) == 0.9


def test_what_is_published_of_a_private_score(store):
    protect(store, NAME)
    protection = protection_of(store, NAME)
    assert protection
    score = dataclasses.replace(made(np.ones(90), np.ones(90) - 2 * (np.arange(90) < 30)), n_units=90)
    shown = {"model": "m0", "benchmark": NAME, "version": 1, "score": 0.67, "error": 0.05}
    assert public_columns(score, protection, 0.67) == shown
    # The error of a score that is not shown is not, either.
    assert public_columns(score, protection, 0.71)["error"] is None
    assert public_columns(plain(0.67, error=None), protection, 0.67)["error"] is None
