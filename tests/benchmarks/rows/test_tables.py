"""Tables of benchmarks: how they are written out, and a family that is added by its folder alone."""

import sys

import pytest

import bsjax.benchmarks.families as families
from bsjax import benchmark_registry, load_benchmark
from bsjax.benchmarks import benchmark_row
from bsjax.benchmarks.rows.tables import builtin_rows, read_rows
from bsjax.core.discovery import families as found

TABLE = """
[words]
pls = "partial least squares"

[names]
penalties = [1.0, 10.0]

[defaults]
kind = "neural"
version = 1
citation = "majaj2015"

[[family]]
about = "macaque {region}"
data = "{set}.{region}"
vary = { region = ["V4", "IT"], set = ["one", "two"] }
metric = "pls"

    [[family.row]]
    identifier = "{set}.{region}-pls"
    region = "{region}"
    metric_kwargs = { alphas = "{penalties}" }

[[family]]
about = "people"
summary = "people, {words}"
builder = "benchmark:mine"

    [[family.row]]
    identifier = "people-{name}"
    each = [{ name = "a", words = "first", left_out = ["x"] }, { name = "b", words = "second", left_out = [] }]
    kind = "behavioural"
    left_out = "{left_out}"
    subjects = ["s1", "s2"]
    data = ["of_{subject}", "shared"]
    steps = [["assign_subject", "{subject}"]]
"""


def rows_of(tmp_path, text):
    path = tmp_path / "rows.toml"
    path.write_text(text)
    return list(read_rows(path, "bsjax.benchmarks.families.mine"))


def test_a_row_for_each_combination(tmp_path):
    rows = rows_of(tmp_path, TABLE)
    names = ["one.V4-pls", "two.V4-pls", "one.IT-pls", "two.IT-pls", "people-a", "people-b"]
    assert [row.identifier for row in rows] == names
    assert (rows[3].region, rows[3].data, rows[3].version, rows[3].citation) == ("IT", ("two.IT",), 1, ("majaj2015",))
    assert rows[3].summary == "macaque IT; partial least squares"
    assert rows[3].settings == {"metric_kwargs": {"alphas": (1.0, 10.0)}}
    assert rows[3].builder == "bsjax.benchmarks.kinds.published_recordings:neural"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a family, beside which there is no other."""
    monkeypatch.setattr(found, "_FAMILIES", tmp_path)
    monkeypatch.setattr(families, "__path__", [*families.__path__, str(tmp_path)])
    (tmp_path / "mine2026").mkdir()
    yield tmp_path / "mine2026"
    # Code of one's own that goes by a name of bsjax: what is computed later would be another's.
    for name in [name for name in sys.modules if "mine2026" in name]:
        del sys.modules[name]


def test_a_family_is_added_by_its_folder_alone(folder):
    (folder / "rows.toml").write_text(
        '[[family]]\nbuilder = "benchmark:mine"\nkind = "neural"\nversion = 3\nparent = "V4"\n'
        '[[family.row]]\nidentifier = "Mine2026.V4-own"\nsummary = "mine"\nmetric = "own"\n'
    )
    (folder / "__init__.py").write_text("")
    (folder / "benchmark.py").write_text(
        "from bsjax import Score\nfrom bsjax.benchmarks import BenchmarkBase\n\n"
        "def mine(row, data=None):\n"
        "    return BenchmarkBase(row.identifier, lambda: Score(0.5), row.version, row.parent, row.bibtex)\n"
    )
    row = builtin_rows.__wrapped__()["Mine2026.V4-own"]
    benchmark_registry.register(row.identifier, row.builder, row.summary, row=row)
    try:
        built = load_benchmark("Mine2026.V4-own", data="somewhere")
        assert (built.version, built.parent, float(built.ceiling)) == (3, "V4", 0.5)
        assert benchmark_row("Mine2026.V4-own") is row
    finally:
        del benchmark_registry["Mine2026.V4-own"]


def test_one_identifier_for_two_rows(folder):
    (folder / "rows.toml").write_text(
        '[[family]]\nkind = "neural"\nsummary = "another"\n[[family.row]]\nidentifier = "Cadena2017-pls"\n'
    )
    with pytest.raises(ValueError, match="has another row 'Cadena2017-pls'"):
        builtin_rows.__wrapped__()
