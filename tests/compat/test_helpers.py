"""Small functions that plugins import."""

import contextlib
import http.server
import threading
from functools import partial

import numpy as np
import pytest

from bsjax.compat.helpers import (
    change_dict,
    combine_fields,
    download_weight_file,
    flatten,
    fullname,
    is_iterable,
    iterable_to_list,
    lstrip_local,
    make_list,
    map_fields,
    recursive_dict_merge,
)


@contextlib.contextmanager
def served(answer):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer(self)

        def log_message(self, format, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/weights.pth"
        finally:
            server.shutdown()
            thread.join()


def test_weights_are_fetched_once_and_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
    monkeypatch.setattr("bsjax.data.remote.web_files.ATTEMPTS", 2)
    asked = []

    def answer(request, status=200, stated=7):
        asked.append(request.path)
        request.send_response(status)
        request.send_header("Content-Length", str(stated))
        request.end_headers()
        request.wfile.write(b"weights")

    with served(partial(answer, stated=9)) as url, pytest.raises(ConnectionError, match="7 of 9 bytes came"):
        download_weight_file(url, folder="net")
    assert len(asked) == 2
    with served(partial(answer, status=404)) as url, pytest.raises(ConnectionError, match="cannot fetch .*404"):
        download_weight_file(url, folder="net")
    assert not list((tmp_path / "models" / "net").iterdir())
    with served(answer) as url:
        asked.clear()
        for _ in range(2):
            path = download_weight_file(url, folder="net")
    assert path == str(tmp_path / "models" / "net" / "weights.pth") and len(asked) == 1
    assert (tmp_path / "models" / "net" / "weights.pth").read_bytes() == b"weights"


def test_what_counts_as_several():
    assert [is_iterable(x) for x in ([1], (1,), {1}, np.ones(2), iter("a"))] == [True] * 5
    assert [is_iterable(x) for x in ("ab", 3, None)] == [False] * 3
    layers = ["conv1", "conv2"]
    assert make_list(layers) is layers and make_list("conv1") == ["conv1"] and make_list(b"a") == [b"a"]
    assert make_list(3) == [3] and make_list(None) == [None]


def test_nested_lists():
    bins = np.empty(2, object)
    bins[:] = [(0, 1), (2, (3, 4))]
    assert iterable_to_list(bins) == [[0, 1], [2, [3, 4]]]
    assert iterable_to_list(([1, "ab"], np.array([[1.5, 2]]), {"a": 1})) == [[1, "ab"], [[1.5, 2]], {"a": 1}]
    assert iterable_to_list("ab") == "ab" and iterable_to_list(np.array(3)) == 3


class Fields:
    def __init__(self, one, two):
        self.one, self.two = one, two


def test_fields_of_objects():
    fields = Fields(1, 2)
    map_fields(fields, lambda value: 10 * value)
    assert vars(fields) == {"one": 10, "two": 20}
    both = combine_fields([fields, Fields(3, 4)], sum)
    assert type(both) is Fields and vars(both) == {"one": 13, "two": 24} and vars(fields) == {"one": 10, "two": 20}
    assert combine_fields([], sum) == []
    with pytest.raises(AttributeError, match="two"):
        combine_fields([fields, type("Other", (), {"one": 3})()], sum)


def test_dicts_in_dicts_are_merged():
    one, two = {"a": {"b": [1], "c": 2}, "d": {"e": 3}, "f": 4}, {"a": {"c": 5}, "d": 6, "f": {"g": 7}}
    merged = recursive_dict_merge(one, two)
    assert merged == {"a": {"b": [1], "c": 5}, "d": 6, "f": {"g": 7}}
    merged["a"]["b"].append(8)
    assert one["a"] == {"b": [1], "c": 2} and two["a"] == {"c": 5}


@pytest.mark.parametrize("multithread", [False, True])
def test_values_of_a_dict_are_changed_in_order(multithread):
    layers = {f"layer{n}": n for n in (3, 1, 2)}
    assert list(change_dict(layers, lambda n: 2 * n, multithread=multithread).items()) == [
        ("layer3", 6),
        ("layer1", 2),
        ("layer2", 4),
    ]
    named = change_dict(layers, lambda name, n: f"{name}={n}", keep_name=True, multithread=multithread)
    assert list(named.values()) == ["layer3=3", "layer1=1", "layer2=2"]


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 2, 3, 4)])
def test_units_and_their_places(shape):
    output = np.random.default_rng(0).normal(size=shape)
    flat, places = flatten(output, return_index=True)
    assert flat.shape == (2, np.prod(shape[1:])) and flatten(output).tolist() == flat.tolist()
    for unit, place in enumerate(places):
        assert output[(1, *place)] == flat[1, unit]


def test_paths_from_the_folder_of_data_on():
    assert lstrip_local("/home/me/.brainio/image_a/1.png") == ".brainio/image_a/1.png"
    assert lstrip_local("/home/me/images/1.png") == "/home/me/images/1.png"


def test_names_of_functions_and_objects():
    assert fullname(make_list) == "bsjax.compat.helpers.make_list" and fullname(Fields(1, 2)) == f"{__name__}.Fields"


def test_the_home_of_weights(monkeypatch, tmp_path):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "w.pth").write_bytes(b"here")
    # What is there is not fetched: nothing listens at this address.
    assert download_weight_file("http://127.0.0.1:9/w.pth") == str(tmp_path / "models" / "w.pth")
