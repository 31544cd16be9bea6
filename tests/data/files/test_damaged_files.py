"""Damaged files of every kind: each is refused by a clear error or read as what it was, and none hangs its reader."""

import pytest

from tests.support.damage import Outcome, damaged, defects, outcomes
from tests.support.readers import DEFECTIVE, READERS

GROUPS = [list(READERS)[start::2] for start in range(2)]
SECONDS = 60  # of work; far more than any takes


def check(found: list[Outcome]) -> None:
    bad = [*defects(found), *(outcome for outcome in found if outcome.seconds > SECONDS)]
    assert not bad, "\n".join(map(str, bad[:20]))


@pytest.mark.parametrize("readers", GROUPS)
def test_a_few_damaged_files(readers):
    check(outcomes([(name, seed) for name in readers for seed in range(3)]))


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_damaged_files(name):
    check(outcomes([(name, seed) for seed in range(1000, 1012)]))


@pytest.mark.slow
def test_each_defect_is_told():
    # Two files each: what follows a hang or a crash is read all the same.
    found = outcomes([(name, seed) for name in DEFECTIVE for seed in (1, 2)], silence=2)
    kinds = ["hangs", "crashes", "other", "unclean", "unclean"]
    assert [outcome.kind for outcome in found] == [kind for kind in kinds for _ in range(2)]
    assert defects(found) == found


def test_damage_is_the_same_each_time_and_seldom_none():
    content = bytes(range(256)) * 4
    many = [damaged(content, seed) for seed in range(200)]
    assert many == [damaged(content, seed) for seed in range(200)]
    assert sum(each != content for each in many) > 180
    assert {damaged(b"", seed) for seed in range(50)} > {b""}
