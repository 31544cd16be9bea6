"""Ceilings and thumbnails for ``bsjax data show``."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bsjax.core.discovery import one_line
from bsjax.core.files import write_atomically
from bsjax.data import load_stimulus_set, stimulus_set_registry
from bsjax.data.publishing.thumbnails import thumbnail_sheet
from bsjax.labelled import load_ceiling


def ceilings(assembly: xr.DataArray) -> Iterator[str]:
    """Estimate the internal consistency of all neuroids and of each region; yields nothing without repetitions."""
    repeated = {"stimulus_id", "repetition"} <= set(assembly.coords) and "neuroid" in assembly.dims
    if not repeated or len(set(assembly.coords["repetition"].values.tolist())) < 2:
        return
    of_neuroids = "region" in assembly.coords and assembly.coords["region"].dims == ("neuroid",)
    regions = assembly.coords["region"].values if of_neuroids else np.array([])
    names = list(dict.fromkeys(regions.tolist()))
    parts = {str(name): assembly.isel(neuroid=regions == name) for name in names} if len(names) > 1 else {}
    yield "ceiling (internal consistency)"
    for name, part in {"all" if parts else "": assembly, **parts}.items():
        label = f"  {name}: " if name else "  "
        try:
            in_time = part.sizes.get("time_bin", 1) > 1
            of = "internal_consistency_temporal" if in_time else "internal_consistency"
            part = part if in_time or "time_bin" not in part.dims else part.isel(time_bin=0, drop=True)
            score = load_ceiling(of)(part)
        except ValueError as error:
            yield f"{label}not estimated: {one_line(error)}"
            continue
        if in_time:
            values = np.asarray(score.value)
            yield f"{label}{values.min():z.3f} to {values.max():z.3f} over {len(values)} time bins"
        else:
            # The error is over halves of the trials, of which few repetitions have but a few that differ.
            ends = score.interval()
            spread = f", 95 % interval {ends.low:z.3f} to {ends.high:z.3f}" if ends and np.isfinite(ends.low) else ""
            yield f"{label}{float(score):z.3f}{spread} (median of {part.sizes['neuroid']:,} neuroids)"


def write_thumbnails(path: Path, loaded: Any, data: Path | None) -> None:
    """Write a sheet of thumbnails of an assembly's stimuli or a stimulus set to a PNG file.

    Raises:
        ValueError: the assembly does not name its stimuli.
    """
    stimuli = loaded
    if hasattr(loaded, "dims"):
        stimuli = loaded.attrs.get("stimulus_set")
        name = loaded.attrs.get("stimulus_set_identifier")
        if stimuli is None and name in stimulus_set_registry:
            stimuli = load_stimulus_set(name, **({} if data is None else {"folder": data}))
        if stimuli is None:
            raise ValueError("there are no stimuli to make thumbnails of: show the stimulus set, or its table, instead")
    content = io.BytesIO()
    thumbnail_sheet(stimuli).save(content, "PNG")
    write_atomically(path, content.getvalue())
