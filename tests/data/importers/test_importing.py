"""Importing published data from a folder, and from a local HTTP server with the addresses of the public repository."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bsjax import load_dataset
from bsjax.data.catalogue.registry import data_rows
from bsjax.data.importers import sources
from bsjax.data.importers.importing import RECORD, import_data, imported_files, imported_folder
from bsjax.data.importers.sources import Source, SourceFile, source, source_names
from tests.support.web import Web, served

HEADER = "subj,session,trial,rt,object_response,category,condition,imagename\n"


@pytest.fixture
def web() -> Iterator[Web]:
    with served() as web:
        yield web


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("BSJAX_GITHUB_RAW_URL", raising=False)
    monkeypatch.setattr("bsjax.data.remote.web_files.ATTEMPTS", 2)
    return tmp_path / "home" / "imported"


def trials(who: str, answer: str = "oven") -> bytes:
    return (HEADER + f"{who},1,1,NaN,{answer},oven,0,1_x_oven.png\n").encode()


@pytest.fixture
def small(monkeypatch) -> dict[str, bytes]:
    """Geirhos2021 with two people in one experiment and a model without a digest: path in the repository -> content."""
    content = {f"raw-data/edge/edge_subject-{n}_session_1.csv": trials(f"subject-{n}") for n in ("01", "02")}
    model = "raw-data/edge/edge_resnet50_session-1.csv"
    files = [
        SourceFile(path.removeprefix("raw-data/"), path, hashlib.sha256(body).hexdigest())
        for path, body in content.items()
    ]
    files.append(SourceFile(model.removeprefix("raw-data/"), model, None, optional=True))
    small = Source("Geirhos2021", "lab/trials", "MIT", ("c1", "c2"), tuple(files), ("{folder}/{folder}_*.csv",))
    real = {name: source(name) for name in source_names()}
    monkeypatch.setattr(sources, "sources", lambda: {**real, "Geirhos2021": small})
    return {**content, model: trials("resnet50", "bear")}


def laid_out(content: dict[str, bytes], folder: Path, drop: str = "") -> Path:
    for path, body in content.items():
        place = folder / path.removeprefix(drop)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(body)
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def leftovers(home: Path) -> list[str]:
    return [path.name for path in home.iterdir() if path.name != "Geirhos2021" and not path.name.endswith(".lock")]


@pytest.mark.parametrize("drop", ["", "raw-data/edge/"], ids=["clone", "flat"])
def test_a_folder_is_imported_whole(small, tmp_path, home, drop):
    with pytest.raises(FileNotFoundError, match="has not been imported into"):
        load_dataset("Geirhos2021.human", experiment="edge")
    clone = laid_out(small, tmp_path / "clone", drop)
    before, seen = snapshot(clone), []
    place = import_data("Geirhos2021", clone, progress=lambda *told: seen.append(told))
    assert place == home / "Geirhos2021" == imported_folder("Geirhos2021") and leftovers(home) == []
    copied = {name: body for name, body in snapshot(place).items() if name != RECORD}
    assert copied == {path.removeprefix("raw-data/"): body for path, body in small.items()}
    record = json.loads((place / RECORD).read_bytes())
    assert (record["repository"], record["licence"]) == ("https://github.com/lab/trials", "MIT")
    for name, file in record["files"].items():
        assert file["sha256"] == hashlib.sha256(copied[name]).hexdigest() and file["bytes"] == len(copied[name])
        trusted = "trusted on first import" if "resnet50" in name else "published digest"
        assert file["checked"] == trusted and file["from"].startswith(str(clone))
    assert seen[-1][1:] == (3, 3) and snapshot(clone) == before
    shutil.rmtree(clone)
    assert load_dataset("Geirhos2021.human", experiment="edge")["subject"].values.tolist() == [
        "subject-01",
        "subject-02",
    ]
    assert load_dataset("Geirhos2021.model", experiment="edge").values.tolist() == ["bear"]
    row = next(row for row in data_rows() if row.identifier == "Geirhos2021.human")
    assert (row.cached, row.size) == ("yes", sum(map(len, small.values())))


def test_folders_that_are_not_the_published_data(small, tmp_path, home):
    clone = laid_out(small, tmp_path / "clone")
    wrong = clone / "raw-data/edge/edge_subject-02_session_1.csv"
    wrong.write_bytes(wrong.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(ValueError, match=f"not the published files of Geirhos2021: {wrong} .*autocrlf=false"):
        import_data("Geirhos2021", clone)
    wrong.unlink()
    with pytest.raises(FileNotFoundError, match="edge_subject-02_session_1"):
        import_data("Geirhos2021", clone)
    assert leftovers(home) == [] and not (home / "Geirhos2021").exists()
    with pytest.raises(KeyError, match="no data 'Geirhos2022' to import; nearest: Geirhos2021"):
        import_data("Geirhos2022", clone)


def test_a_file_without_a_digest_is_held_to_what_came_first(small, tmp_path):
    clone = laid_out(small, tmp_path / "clone")
    place = import_data("Geirhos2021", clone)
    before = snapshot(place)
    other = clone / "raw-data/edge/edge_resnet50_session-1.csv"
    other.write_bytes(trials("resnet50", "clock"))
    with pytest.raises(
        ValueError, match=f"not the files .* imported first.*: {other}. To trust these instead, remove {place}"
    ):
        import_data("Geirhos2021", clone)
    assert snapshot(place) == before
    shutil.rmtree(place)
    import_data("Geirhos2021", clone)
    assert load_dataset("Geirhos2021.model", experiment="edge").values.tolist() == ["clock"]


def test_importing_again_adds_and_repairs(small, tmp_path, web):
    clone = laid_out(small, tmp_path / "clone")
    place = import_data("Geirhos2021", clone)
    times = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    (clone / "raw-data/edge/edge_resnet50_session-1.csv").unlink()
    import_data("Geirhos2021", clone)  # it has less: what is there stays
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == times
    more = {
        "raw-data/edge/edge_bagnet33_session-1.csv": trials("bagnet33", "boat"),
        "raw-data/other/other_subject-01_session_1.csv": b"no experiment",
    }
    import_data("Geirhos2021", laid_out(more, clone))
    assert load_dataset("Geirhos2021.model", experiment="edge", model="bagnet33").values.tolist() == ["boat"]
    assert len(imported_files("Geirhos2021")) == 3 + 1
    whole = snapshot(place)
    (place / "edge/edge_subject-01_session_1.csv").write_bytes(b"")
    serve(web, small, "c1")
    import_data("Geirhos2021", base_url=web.address)
    assert snapshot(place) == whole and len(web.asked) == 1


def serve(web: Web, content: dict[str, bytes | Path], commit: str, repository: str = "lab/trials") -> None:
    web.files |= {f"{repository}/{commit}/{path}": body for path, body in content.items()}


def test_it_is_fetched_at_the_pinned_commit_once(small, web, home, monkeypatch):
    serve(web, small, "c1")
    path = "lab/trials/c1/raw-data/edge/edge_subject-02_session_1.csv"
    web.status[path] = [500, 503]
    with pytest.raises(
        ConnectionError, match=rf"cannot fetch {web.address}/{path} .*503.*`bsjax data import .* --from"
    ):
        import_data("Geirhos2021", base_url=web.address)
    with pytest.raises(FileNotFoundError, match="has not been imported"):
        imported_folder("Geirhos2021")
    web.status[path] = [500]  # once, which is tried again
    web.asked.clear()
    monkeypatch.setenv("BSJAX_GITHUB_RAW_URL", web.address + "/")
    place = import_data("Geirhos2021")
    assert not any("subject-01" in asked for asked in web.asked) and leftovers(home) == []
    record = json.loads((place / RECORD).read_bytes())
    assert record["files"]["edge/edge_subject-02_session_1.csv"]["from"].startswith(f"{web.address}/lab/trials/c1/raw-")
    web.asked.clear()
    import_data("Geirhos2021", base_url=web.address)
    assert web.asked == []


@pytest.mark.parametrize(("name", "fault"), [("resnet50", "cut"), ("subject-01", "another")])
def test_an_answer_that_is_not_the_file_is_not_kept(small, web, home, name, fault):
    serve(web, small, "c1")
    for path in [path for path in web.files if name in path]:
        if fault == "cut":
            web.cut.add(path)
        else:
            web.files[path] = b"another file"
    with pytest.raises((ConnectionError, ValueError), match=name):
        import_data("Geirhos2021", base_url=web.address)
    assert imported_files("Geirhos2021") == [] and not list(home.rglob(f"*{name}*"))


def test_refusals_and_absence_are_explained(small, web):
    with pytest.raises(
        FileNotFoundError, match=f"{web.address}/lab/trials has no raw-data/edge/.* at commit c1, c2; with a"
    ):
        import_data("Geirhos2021", base_url=web.address)
    web.status = {f"lab/trials/c1/{path}": [403, 403] for path in small}
    with pytest.raises(PermissionError, match="was refused: 403 .*with a clone of https://github.com/lab/trials, use"):
        import_data("Geirhos2021", base_url=web.address)
    with pytest.raises(ConnectionError, match=r"cannot fetch http://127.0.0.1:9/lab/trials/c1/"):
        import_data("Geirhos2021", base_url="http://127.0.0.1:9")
    with pytest.raises(ValueError, match="expected an address that begins with https:// or http://, got 'file:///'"):
        import_data("Geirhos2021", base_url="file:///")


REAL = {
    "Algonauts2019": ("algonauts2019_92", "Algonauts2019.92", {"region": "EVC"}),
    "Cowley2026": ("macaque_v4", "Cowley2026.V4", {}),
    "Geirhos2021": ("geirhos2021", "Geirhos2021.human", {"experiment": "sketch"}),
    "Kriegeskorte2008": ("kriegeskorte2008_92", "Kriegeskorte2008", {"kind": "behaviour"}),
}


@pytest.mark.parametrize("name", REAL)
def test_the_real_data_from_addresses_of_their_repositories(name, shared_data, web):
    folder, identifier, options = REAL[name]
    wanted = source(name)
    assert all(len(commit) == 40 for commit in wanted.commits) and wanted.licence
    assert all(file.optional or len(file.sha256 or "") == 64 for file in wanted.files)
    for file in wanted.files:
        path = shared_data / folder / file.to
        if path.is_file():
            web.files[f"{wanted.repository}/{wanted.commits[-1]}/{file.path}"] = path
    import_data(name, base_url=web.address)
    assert load_dataset(identifier, **options).size > 1000
    assert all(web.asked.count(path) == 1 for path in web.files)
    assert {file.to for file in wanted.files if file.sha256} == {
        path.relative_to(imported_folder(name)).as_posix() for path in imported_files(name)
    }
