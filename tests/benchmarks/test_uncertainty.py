"""The error of a ceiling with respect to stimuli."""

from bsjax import Score, load_ceiling
from bsjax.benchmarks.experiment import squeeze_time
from bsjax.benchmarks.uncertainty import with_error_over_stimuli


def test_groups_leave_out_whole_stimuli_with_all_their_trials(trials):
    seen = []

    def ceiling(part):
        seen.append(set(zip(part["stimulus_id"].values, part["repetition"].values, strict=True)))
        return Score(0.0)

    with_error_over_stimuli(ceiling, trials, n_groups=8)
    whole, parts = seen[0], seen[1:]
    left_out = [whole - part for part in parts]
    assert [len(group) for group in left_out] == [20] * 8  # 5 stimuli, 4 trials each
    assert all(len({stimulus for stimulus, _ in group}) == 5 for group in left_out)
    assert set.union(*left_out) == whole


def test_the_error_of_a_ceiling_is_not_its_spread_over_halvings(trials):
    flat = squeeze_time(trials)
    ceiling = load_ceiling("internal_consistency")
    score = with_error_over_stimuli(ceiling, flat)
    assert score.value == ceiling(flat).value
    assert score.error > 2 * ceiling(flat).error
    assert score.error_kind == "standard error over stimuli, jackknife of 10 groups"
    assert score == with_error_over_stimuli(ceiling, flat) and score.error > 0
