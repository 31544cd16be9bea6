"""``bsjax.score``: identifiers, globs, objects and lists."""

import pytest

import bsjax
from bsjax import Score, load_benchmark, load_model


def test_identifiers_and_objects_give_the_same_score():
    by_name = bsjax.score("pixels", "Simulated.V1-ridge")
    by_object = bsjax.score(load_model("pixels"), load_benchmark("Simulated.V1-ridge"))
    assert isinstance(by_name, Score)
    assert by_name.value == by_object.value
    assert by_name.provenance == by_object.provenance
    assert by_name.provenance["model"] == "pixels"


def test_objects_need_no_registration(good, small):
    assert bsjax.score(good, small) > 0.9


def test_a_list_or_a_glob_gives_a_dict_of_pairs(good, bad, small):
    scores = bsjax.score([good, bad], small)
    assert list(scores) == [("good", "Small.V1-ridge"), ("bad", "Small.V1-ridge")]
    assert scores["good", "Small.V1-ridge"] > scores["bad", "Small.V1-ridge"]
    assert list(bsjax.score("pix*", "Simulated.V1-ri*")) == [("pixels", "Simulated.V1-ridge")]
    assert list(bsjax.score([good], small)) == [("good", "Small.V1-ridge")]


def test_a_pair_that_fails_is_left_out_with_a_warning(good, small, broken):
    with pytest.warns(UserWarning, match="^no score for good on Broken.V1-ridge: the data are incomplete$") as caught:
        scores = bsjax.score(good, [broken, small])
    assert list(scores) == [("good", "Small.V1-ridge")]
    assert [warning.filename for warning in caught] == [__file__]


def test_if_all_pairs_fail_so_does_the_call(good, broken):
    with pytest.raises(ValueError, match="no pair has a score:\ngood on Broken.V1-ridge: the data are inc"):
        bsjax.score(good, [broken])
    with pytest.raises(ValueError, match="^the data are\n    incomplete$"):
        bsjax.score(good, broken)


def test_unknown_identifiers_are_refused_before_anything_is_scored(good, small):
    with pytest.raises(KeyError, match="unknown model 'pixel'; nearest: pixels"):
        bsjax.score(["pixel", good], small)
    with pytest.raises(KeyError, match=r"no benchmark matches 'Simulatd\*'"):
        bsjax.score(good, "Simulatd*")


def test_data_goes_to_the_benchmarks_that_take_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        bsjax.score("pixels", "Cowley2026.V4-ridge", data=tmp_path)
    with pytest.raises(ValueError, match="no benchmark takes the argument 'data': Simulated.V1-ridge, Sim"):
        bsjax.score("pixels", "Simulated.V1-r*", data=tmp_path)
