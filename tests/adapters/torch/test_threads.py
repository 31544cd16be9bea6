"""One torch module in several threads: each gets its own activations, and the module stays as it was."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from bsjax.activations import ActivationCache
from bsjax.adapters import from_torch, imagenet_preprocessing

torch = pytest.importorskip("torch")

SIX = imagenet_preprocessing(6)
N_THREADS, N_IMAGES = 8, 12


@contextmanager
def often_another_thread():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Block(torch.nn.Module):
    """Remembers its input between two steps, as networks do that are made for one thread."""

    def __init__(self, n_in):
        super().__init__()
        self.conv, self.bn, self.drop = torch.nn.Conv2d(n_in, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Dropout(0.5)

    def forward(self, x):
        self.last = x.mean((1, 2, 3), keepdim=True)
        return self.drop(self.bn(self.conv(x))) + self.last


def made():
    """A module, one that contains a part of it, and that part; some of them train."""
    torch.manual_seed(0)
    shared = Block(4)
    first = torch.nn.Sequential(Block(3), shared, torch.nn.Flatten()).train()
    second = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(inplace=True), shared)
    first[0].bn.eval()
    shared.drop.eval()
    return {"first": first, "second": second}


LAYERS = {"first": ["0.bn", "0", "1.drop", "output"], "second": ["0", "1", "2.conv", "2"]}


def states(nets):
    return [
        (name, part.training, len(part._forward_hooks)) for net in nets.values() for name, part in net.named_modules()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, True])
def test_threads_that_share_modules_get_what_one_thread_gets(stimuli, tmp_path, stored):
    nets = made()
    before = states(nets)
    whole = {
        name: from_torch(net, name, SIX, cache=None).by_layer(stimuli(list(range(N_IMAGES))), LAYERS[name])
        for name, net in nets.items()
    }
    cache = ActivationCache(tmp_path / "cache") if stored else None
    one_for_all = {name: from_torch(net, name, SIX, cache=cache, batch_size=4) for name, net in nets.items()}
    together = threading.Barrier(N_THREADS)

    def work(number):
        rng = np.random.default_rng([0, number])
        done = []
        together.wait(60)
        for _ in range(3):
            name = rng.choice(list(nets))
            model = one_for_all[name]
            if rng.random() < 0.5:
                model = from_torch(nets[name], name, SIX, cache=cache, batch_size=int(rng.choice([2, 4])))
            shown = rng.permutation(N_IMAGES)[: rng.integers(1, N_IMAGES)].tolist()
            layers = rng.permutation(LAYERS[name])[: rng.integers(1, 4)].tolist()
            done.append((name, shown, layers, model.by_layer(stimuli(shown), layers)))
        return done

    with often_another_thread(), ThreadPoolExecutor(N_THREADS) as threads:
        everything = [one for done in threads.map(work, range(N_THREADS)) for one in done]
    assert states(nets) == before
    for name, shown, layers, found in everything:
        results = [found]
        if cache is not None:  # what is kept is read again
            again = one_for_all[name].with_options(progress=lambda _: pytest.fail("it was computed again"))
            results.append(again.by_layer(stimuli(shown), layers))
        for result in results:
            for layer in layers:
                np.testing.assert_allclose(result[layer].values, whole[name][layer].values[shown], atol=1e-5)
    assert cache is None or cache.verify() == []


def test_a_call_from_elsewhere_is_not_recorded(stimuli):
    """Somebody who knows nothing of the recording uses the module too."""

    class Interrupted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.busy = torch.nn.Flatten(), False

        def forward(self, x):
            x = self.inner(x)
            other = threading.Thread(target=lambda: self.inner(torch.ones(5, 7)))
            other.start()
            other.join()
            return x

    model = from_torch(Interrupted(), "net", SIX, cache=None)
    activations = model(stimuli([0, 1]), ["inner", "output"])
    assert model.layers() == {"inner": (108,), "output": (108,)}
    np.testing.assert_array_equal(activations.sel(layer="inner").values, activations.sel(layer="output").values)


def test_a_mode_with_more_to_it_than_a_flag_is_restored_by_the_module_itself(stimuli):
    class Merging(torch.nn.Linear):
        """Its evaluation mode merges two weights, as adapters of low rank do."""

        def train(self, mode=True):
            if mode != self.training:
                with torch.no_grad():
                    self.weight.add_(-1 if mode else 1)
            return super().train(mode)

    net = torch.nn.Sequential(torch.nn.Flatten(), Merging(108, 2), Merging(2, 2)).train()
    net[2].eval()
    weights = {name: value.clone() for name, value in net.state_dict().items()}
    from_torch(net, "net", SIX)(stimuli([0]), "output")
    assert [part.training for part in net.modules()] == [True, True, True, False]
    for name, value in net.state_dict().items():
        torch.testing.assert_close(value, weights[name])
