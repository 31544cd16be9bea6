"""What code reads while it is followed: what users' code asks for counts, what bsjax asks for does not."""

import os.path
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

from bsjax.core.identity.opened import following, unchanged
from bsjax.data.remote.cache import brainio_home


def test_the_home_that_bsjax_asks_for_is_no_input():
    with following() as followed:
        brainio_home()
    assert followed.notes() == {}


@pytest.mark.parametrize("find", [lambda: Path("~/weights").expanduser(), lambda: os.path.expanduser("~/weights")])
def test_the_home_that_a_users_code_asks_for_is_one(find, monkeypatch):
    with following() as followed:
        find()
    notes = followed.notes()
    assert notes and unchanged(notes)
    monkeypatch.setenv("HOME", "/elsewhere")
    assert not unchanged(notes)


def test_a_file_that_changes_after_it_was_read_is_not_what_was_read(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("old")
    with following() as followed:
        path.read_text()
        path.write_text("new one")
    assert not unchanged(followed.notes())
    with following() as followed:
        path.read_text()
    assert unchanged(followed.notes())


def test_a_file_that_is_made_on_the_way_is_what_is_read(tmp_path):
    path = tmp_path / "cached.txt"
    with following() as followed:
        with pytest.raises(FileNotFoundError):
            path.read_text()
        path.write_text("made")
        path.read_text()
    assert unchanged(followed.notes())


def test_files_that_libraries_open_in_c(tmp_path):
    table, data = tmp_path / "a.parquet", tmp_path / "a.nc"
    pytest.importorskip("pyarrow")
    pytest.importorskip("h5netcdf")
    pd.DataFrame({"a": [1]}).to_parquet(table)
    xr.DataArray([1.0], name="a").to_netcdf(data, engine="h5netcdf")
    with following() as followed:
        pd.read_parquet(table)
        xr.load_dataarray(data, engine="h5netcdf")
    assert {f"file {path}" for path in (table, data)} <= followed.notes().keys()
