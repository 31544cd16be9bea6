"""What may be given as a model or benchmark, and what is said of anything else."""

import pytest

import bsjax
from bsjax import list_benchmarks, list_models, load_model
from bsjax.scoring.resolution import found_benchmarks, found_models


def test_globs_lists_and_objects(good):
    assert list(found_models("*")) == list_models()
    others = [name for name in list_models() if name != "gabor-v1"]
    assert list(found_models(["gabor-v1", "*", good])) == ["gabor-v1", *others, "good"]
    assert list(found_benchmarks("*")) == list_benchmarks()
    assert found_models(good)["good"] is good
    assert found_models("pixels") == {"pixels": "pixels"}


def test_one_identifier_is_one_thing(good):
    assert list(found_models([good, good])) == ["good"]
    other = load_model("pixels")
    with pytest.raises(ValueError, match="two different models have the identifier 'pixels'"):
        found_models(["pixels", other])


@pytest.mark.parametrize("framework", ["torch", "flax"])
def test_a_bare_network_is_told_how_to_become_a_model(framework):
    """What the message tells to write, run as written but for the name of the layer."""
    if framework == "torch":
        module = pytest.importorskip("torch").nn.Flatten()
    else:
        nnx = pytest.importorskip("flax.nnx")
        module = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    with pytest.raises(ValueError, match=f"got a bare network .{type(module).__name__}.; wrap it:") as caught:
        found_models(module)
    names = {"bsjax": bsjax, "module": module}
    code = "\n".join(line.strip() for line in str(caught.value).splitlines()[1:])
    exec(code.replace('"a layer"', '"output"'), names)  # noqa: S102
    assert list(found_models(names["model"])) == ["my-model"] and f"from_{framework}(module" in code


def test_other_things_are_named_with_what_they_lack(good):
    with pytest.raises(ValueError, match="no start_recording, look_at; wrap it: bsjax.ModelCommitment"):
        found_models(good.activations_model)
    with pytest.raises(ValueError, match="got int, which has no identifier, __call__"):
        found_benchmarks(3)
