"""The page's table of simulated pairs has all of them, and is what is measured."""

import re

import pytest

from benchmarks_perf.calibration.known_pairs import NAMES, PAGE, STIMULI, head, row, written

TEXT = PAGE.read_text(encoding="utf-8")
LINES = TEXT.partition(head())[2].strip().partition("\n\n")[0].splitlines()


def test_the_table_has_all_metrics_at_all_sizes():
    assert [tuple(re.findall(r"`(\w+)` \| ([\d,]+)", line)[0]) for line in LINES] == [
        (name, f"{stimuli:,}") for name in NAMES for stimuli in STIMULI
    ]
    assert written(TEXT, LINES) == TEXT


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cka", "one_to_one"])
def test_a_row_is_measured_again(name):
    shown, found = (re.findall(r"\d+\.\d+", line) for line in (LINES[NAMES.index(name) * len(STIMULI)], row(name, 50)))
    assert [float(each) for each in found[:-1]] == pytest.approx([float(each) for each in shown[:-1]], abs=0.011)
