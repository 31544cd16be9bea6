"""Identities of values: equal for equal content in every process, different for anything that matters."""

import copy
import enum
import functools
import math
import os
import runpy
import sys
import threading
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax.core.digests.arrays import Undigestible, array_digest, file_digest
from bsjax.core.identity.values import identity_of

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.frozensets(st.integers(0, 9), max_size=3)
    ),
    max_leaves=8,
)


def spelled(value):
    """Content in words, where 1, 1.0 and True are three, and 0.0 and -0.0 two; sets in one order."""
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(spelled, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{k!r}: {spelled(v)}' for k, v in value.items())})"
    return f"set({sorted(value)})" if isinstance(value, frozenset) else repr(value)


@pytest.mark.slow
@given(VALUES, VALUES)
def test_equal_content_is_equal_digest_and_other_content_another(first, second):
    assert identity_of(first) == identity_of(copy.deepcopy(first))
    assert (identity_of(first) == identity_of(second)) == (spelled(first) == spelled(second))


def test_what_another_thread_adds_to_meanwhile():
    """A network that runs may fill a table; its digest is that of the moment."""
    table = {"a": (1,), "b": (2,)}
    before = identity_of(dict(table))

    def adding(part):
        if isinstance(part, tuple):
            table[len(table)] = (3,)
        return part

    assert identity_of(table, adding) == before


@given(st.sampled_from(["<f4", ">f4", "<i8", "?", "<c8", "<f2", "<U2", "<M8[s]"]), st.integers(0, 3), st.data())
def test_arrays_by_dtype_shape_and_elements_whatever_the_layout(dtype, ndim, data):
    shape = tuple(data.draw(st.integers(0, 4)) for _ in range(ndim))
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    assert (
        identity_of(array)
        == identity_of(np.array(array, order="F"))
        == identity_of(array.astype(array.dtype.newbyteorder()))
    )
    assert identity_of(array) == identity_of(np.repeat(array, 2, axis=-1)[..., ::2] if ndim else array.copy())
    assert identity_of(array) != identity_of(array[None])
    if array.size:
        changed = array.copy()
        changed.flat[data.draw(st.integers(0, array.size - 1))] = np.ones(1).astype(dtype)[0]
        assert (identity_of(changed) == identity_of(array)) == np.array_equal(changed, array)


def test_large_arrays_in_pieces_are_read_whole(tmp_path):
    array = np.arange(9_000_000, dtype=np.float32).reshape(3000, 3000)  # several blocks
    transposed = np.ascontiguousarray(array.T)
    assert identity_of(array.T) == identity_of(transposed)
    transposed[-1, -1] = 0
    assert identity_of(array.T) != identity_of(transposed)
    np.save(tmp_path / "a.npy", array)
    assert identity_of(np.load(tmp_path / "a.npy", mmap_mode="r")) == identity_of(array)


def test_libraries_agree_on_arrays():
    torch = pytest.importorskip("torch")
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert identity_of(values) == identity_of(jnp.asarray(values)) == identity_of(torch.tensor(values))
    assert identity_of(torch.tensor(values).T.contiguous().T) == identity_of(values)
    half = identity_of(jnp.asarray(values, jnp.bfloat16))
    assert half == identity_of(torch.tensor(values).bfloat16()) != identity_of(values)
    assert identity_of(torch.tensor(values).requires_grad_()) == identity_of(values)
    assert identity_of(torch.tensor([1 + 2j]).conj()) == identity_of(np.array([1 - 2j], np.complex64))
    assert identity_of(jax.random.key(0)) != identity_of(jax.random.key(1))


SCALE = 2.0
TABLE = {"bias": [1.0, 2.0]}


def scaled(image):
    return image * SCALE + helped(image)


def helped(image):
    return TABLE["bias"][0] + (scaled(image - 1) if image > 0 else 0)


class Preprocess:
    def __init__(self, size):
        self.size, self.lock = size, threading.Lock()
        self.itself = self

    def __call__(self, images):
        return [scaled(image) for image in images]


class Mode(enum.Enum):
    NEAREST = 1
    LINEAR = 2


@dataclass(frozen=True)
class Resize:
    size: int
    modes: list = field(default_factory=lambda: [Mode.LINEAR])


def test_a_function_is_what_it_does_and_all_that_it_names(monkeypatch):
    before = {name: identity_of(value) for name, value in {"f": scaled, "o": Preprocess(2)}.items()}

    def changed(what):
        now = {"f": identity_of(scaled), "o": identity_of(Preprocess(2))}
        assert now["f"] != before["f"] and now["o"] != before["o"], what

    with monkeypatch.context() as patch:
        patch.setitem(globals(), "SCALE", 3.0)
        changed("a global number")
    with monkeypatch.context() as patch:
        patch.setitem(TABLE, "bias", [1.0, 2.5])
        changed("an element of a global table")
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "helped", lambda image: image)
        changed("a function that it calls")
    assert identity_of(scaled) == before["f"]
    assert identity_of(Preprocess(2)) == before["o"] != identity_of(Preprocess(3))


def rooted(image):
    return np.sqrt(image) + math.floor(image)


@pytest.mark.slow
def test_what_was_put_into_a_library(monkeypatch):
    digests = [identity_of(rooted)]
    for where, name, other in (
        (np, "sqrt", np.cbrt),
        (np, "sqrt", scaled),
        (np, "sqrt", functools.partial(scaled)),
        (np.linalg, "inv", scaled),  # what else of NumPy is used is not known
        (math, "floor", scaled),
        (math, "floor", math.ceil),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, other)
            digests.append(identity_of(rooted))
        assert identity_of(rooted) == digests[0]
    assert len(set(digests)) == len(digests)


def test_closures_defaults_partials_methods_and_wrappers():
    def closing(weights, offset=0):
        return lambda images, scale=1: images @ weights * scale + offset

    weights = np.eye(3)
    alike = identity_of(closing(weights))
    assert alike == identity_of(closing(np.eye(3))) != identity_of(closing(np.eye(3) * 2))
    assert (
        alike
        != identity_of(closing(weights, offset=1))
        != identity_of(lambda images, scale=2: images @ weights * scale)
    )
    first = functools.partial(scaled, image=2, other=1)
    assert identity_of(first) == identity_of(functools.partial(scaled, other=1, image=2)) != identity_of(scaled)
    assert identity_of(Preprocess(2).__call__) != identity_of(Preprocess(3).__call__)
    cached, jitted = functools.cache(closing(weights)), jax.jit(closing(weights))
    assert identity_of(cached) == identity_of(functools.cache(closing(np.eye(3)))) != alike
    assert (
        identity_of(jitted)
        == identity_of(jax.jit(closing(np.eye(3))))
        != identity_of(jax.jit(closing(np.ones((3, 3)))))
    )
    assert identity_of(np.sqrt) != identity_of(np.exp) != identity_of(len) != identity_of(jnp.exp)
    assert identity_of(Resize(3)) == identity_of(Resize(3)) != identity_of(Resize(4))
    assert identity_of(Resize(3, [Mode.NEAREST])) != identity_of(Resize(3))


def test_comments_and_places_do_not_matter(tmp_path):
    source = "def f(x):\n    return x + 1\n"
    commented = '\n\n# Why.\ndef f(x):\n    """What."""\n\n    return x + 1  # because\n'
    made = []
    for number, text in enumerate((source, commented, source.replace("1", "2"))):
        path = tmp_path / f"own{number}.py"
        path.write_text(text)
        made.append(identity_of(runpy.run_path(str(path))["f"]))
    assert made[0] == made[1] != made[2]


def test_a_file_that_was_edited_after_it_was_imported(tmp_path):
    """The code that runs is no more what the file says."""
    path = tmp_path / "own.py"
    path.write_text("def f(x):\n    return x + 1\n")
    function = runpy.run_path(str(path))["f"]
    before = identity_of(function)
    path.write_text("# a line\ndef f(x):\n    return x + 2\n")
    with pytest.raises(Undigestible, match="was changed in .*own.py after it was imported"):
        identity_of(function)
    path.write_text("def f(x):\n    return x + 1  # again\n")
    assert identity_of(function) == before


def test_two_functions_of_one_line_are_two():
    first, second, third = [lambda x: x + 1, lambda x: x + 2, lambda x: [lambda y: y + x, x + 1][1]]
    assert len({identity_of(each) for each in (first, second, third, third(0))}) == 4


def test_functions_that_do_nothing():
    class Quiet:
        # fmt: off
        def passes(self): pass
        def dots(self): ...
        # fmt: on
        def told(self):
            """Does nothing."""

    assert len({identity_of(each) for each in (Quiet.passes, Quiet.dots, Quiet.told)}) == 3


def test_what_nothing_vouches_for_is_refused_and_named(monkeypatch, tmp_path):
    with open(tmp_path / "file", "w") as file:
        holder = Preprocess(2)
        holder.log = file
        with pytest.raises(Undigestible, match="nothing vouches for .* a TextIOWrapper.*'log', of a Preprocess"):
            identity_of(holder)
        monkeypatch.setitem(globals(), "SCALE", file)
        with pytest.raises(Undigestible, match="TextIOWrapper.*'SCALE', of 'globals', of function scaled"):
            identity_of(scaled)


def test_other_things_without_content():
    assert identity_of(sys)  # its version vouches for an installed module
    for value in ((n for n in ()), np.frompyfunc(scaled, 1, 1), sys._getframe()):
        with pytest.raises(Undigestible):
            identity_of(value)
    with pytest.raises(Undigestible, match="tracing"):
        jax.eval_shape(lambda x: array_digest(x) or x, jnp.ones(2))
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Undigestible, match="nested too deeply"):
        identity_of(deep)


def test_what_refers_to_itself_and_what_is_shared():
    loop = [1]
    loop.append(loop)
    other = [1]
    other.append(other)
    assert identity_of(loop) == identity_of(other) != identity_of([1, [1, 2]])
    shared = {"a": 1}
    assert identity_of([shared, shared]) == identity_of([shared, dict(shared)])
    assert identity_of([scaled, helped]) == identity_of([scaled, helped]) != identity_of([helped, scaled])


def test_files_by_content_read_once(tmp_path, monkeypatch):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"same")
    second.write_bytes(b"same")
    digest = file_digest(first)
    assert digest == file_digest(second) and len(digest) == 32
    monkeypatch.setattr("builtins.open", None)  # it is not read again
    assert file_digest(first) == digest
    monkeypatch.undo()
    times = first.stat()
    first.write_bytes(b"eman")
    os.utime(first, ns=(times.st_atime_ns, times.st_mtime_ns))  # of the same size and time
    assert file_digest(first) != digest
    with pytest.raises(FileNotFoundError):
        file_digest(tmp_path / "none")
