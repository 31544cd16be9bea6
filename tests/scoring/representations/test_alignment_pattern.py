"""Profiles over regions: another sample of a region has its profile, up to the ceiling; noise has none."""

import numpy as np
import pytest
import xarray as xr

import bsjax

REGIONS = ["V1", "V2", "V4", "PIT", "IT"]


def chain(rng, stimuli=80, units=24, noise=0.7):
    """Regions along a hierarchy, of which neighbours share most; returns a function that records some units of one."""
    seen = [rng.normal(size=(stimuli, 8))]
    for _ in REGIONS[1:]:
        seen.append(0.8 * seen[-1] + 0.6 * rng.normal(size=(stimuli, 8)))
    see = dict(zip(REGIONS, seen, strict=True))
    return lambda name: see[name] @ rng.normal(size=(8, units)) + 3 * noise * rng.normal(size=(stimuli, units))


@pytest.mark.slow
def test_a_further_sample_of_a_region_has_its_profile():
    rng = np.random.default_rng(0)
    record = chain(rng)
    models = {"as V2": record("V2"), "as IT": record("IT"), "noise": rng.normal(size=(80, 24))}
    found = bsjax.alignment_pattern({name: record(name) for name in REGIONS}, models, "ridge", splits=2)
    alignment, ceiling = found["alignment"], found["ceiling"]
    assert (ceiling > 0.6).all() and found.attrs["parts"] == 4
    for name in ("V2", "IT"):
        assert float(alignment.sel(model=f"as {name}", region=name)) > float(ceiling.sel(region=name)) - 0.1
    # Its profile is not that of the other end of the hierarchy.
    assert float(alignment.sel(model="as IT", region="V1")) < 0.5 < float(alignment.sel(model="as IT", region="IT"))
    assert float(alignment.sel(model="noise").mean()) < 0.5


@pytest.mark.slow
def test_subjects_are_the_parts_where_all_have_all_regions():
    rng = np.random.default_rng(1)
    record = chain(rng, units=8)
    blocks = [(region, subject, record(region)) for region in REGIONS for subject in "xyz"]
    coords = {
        "stimulus_id": ("presentation", np.arange(80)),
        "region": ("neuroid", np.repeat([region for region, _, _ in blocks], 8)),
        "subject": ("neuroid", np.repeat([subject for _, subject, _ in blocks], 8)),
    }
    whole = xr.DataArray(np.concatenate([b for *_, b in blocks], axis=1), coords, ["presentation", "neuroid"])
    model = xr.DataArray(record("V4"), {"stimulus_id": ("presentation", np.arange(80))}, ["presentation", "neuroid"])
    found = bsjax.alignment_pattern(whole, {"model": model})
    assert found.attrs["parts"] == 3
    score = lambda x, y: float(bsjax.score_arrays(x, y, metric="cka"))  # noqa: E731
    each = []
    for subject in "xyz":
        own = {region: block for region, name, block in blocks if name == subject}
        others = [region for region in REGIONS if region != "V4"]
        ours = [score(model.values, own[region]) for region in others]
        theirs = [score(own["V4"], own[region]) for region in others]
        each.append(np.corrcoef(ours, theirs)[0, 1])
    assert float(found["alignment"].sel(model="model", region="V4")) == pytest.approx(np.mean(each), abs=1e-9)
    assert np.isnan(found["similarity"].sel(source="V4", region="V4"))


def test_what_cannot_be_compared():
    record = chain(np.random.default_rng(2))
    brain = {name: record(name) for name in REGIONS}
    with pytest.raises(ValueError, match="4 regions"):
        bsjax.alignment_pattern({name: brain[name] for name in REGIONS[:3]}, {})
    with pytest.raises(ValueError, match="different names"):
        bsjax.alignment_pattern(brain, {"V1": brain["V1"]})
    with pytest.raises(ValueError, match="coordinate 'region'"):
        bsjax.alignment_pattern(xr.DataArray(brain["V1"], dims=["presentation", "neuroid"]), {})
