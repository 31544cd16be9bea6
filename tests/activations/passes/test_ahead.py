"""Layers that are recorded along, as somebody will ask for them."""

import numpy as np
import pytest

from bsjax.activations.cache import ActivationCache
from bsjax.adapters import from_torch, unit_preprocessing

torch = pytest.importorskip("torch")


RUN = []  # what is said of each batch that is run


class Net(torch.nn.Module):
    """Three layers, the last of which may fail."""

    def __init__(self, last=1.0):
        super().__init__()
        self.first, self.second, self.third = torch.nn.Flatten(), torch.nn.Identity(), torch.nn.Identity()
        self.last = last

    def forward(self, images):
        return self.third(self.last * self.second(2 * self.first(images)))


@pytest.fixture
def made(tmp_path, stimuli):
    def make(last=1.0, **options):
        net = Net(last)
        model = from_torch(net, "net", unit_preprocessing(4, "NCHW"), cache=ActivationCache(tmp_path), **options)
        model = model.with_options(progress=RUN.append)
        shown = stimuli([0, 1, 2])
        model(stimuli([3]), "first")  # whatever is tried before the first pass
        return net, model, shown

    return make


def passes(run):
    before = len(RUN)
    result = run()
    return len(RUN) - before, result


@pytest.mark.slow
def test_one_pass_records_what_others_will_ask_for(made):
    net, model, shown = made()
    alone, _ = passes(lambda: model(shown, "first"))
    ahead = model.with_options(ahead=("second", "third", "first"))
    for layer, expected in (("second", True), ("third", False), ("second", False), ("first", False)):
        n, found = passes(lambda layer=layer: ahead(shown, layer))
        assert bool(n) is expected and (not expected or n <= alone + 2)  # each layer that is new is tried
        assert set(found["layer"].values) == {layer}
    np.testing.assert_array_equal(ahead(shown, "third").values, 2 * model(shown, "first").values)


def test_a_layer_that_fails_or_is_not_there_fails_when_it_is_asked_for(made):
    net, model, shown = made(last=float("nan"), ahead=("third", "no-such"))
    found = model(shown, "second")
    assert np.isfinite(found.values).all() and set(found["layer"].values) == {"second"}
    assert passes(lambda: model(shown, "second"))[0] == 0
    with pytest.raises(ValueError, match="layer 'third' of model 'net' gives NaN or infinite values"):
        model(shown, "third")
    with pytest.raises(ValueError, match="no layer 'no-such'"):
        model(shown, "no-such")
