"""The 22 benchmarks as rows; nothing heavy is imported to list them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from bsjax.benchmarks.rows.publications import publication

if TYPE_CHECKING:
    from bsjax.benchmarks.families.marques2020.properties import PropertiesBenchmark
    from bsjax.data import PropertyAssembly

_TIME_BIN = (70, 170)  # ms
_VERSION = 1


class Recording(NamedTuple):
    """An experiment with single neurons in macaque V1.

    Attributes:
        dataset: the name of the recorded properties.
        stimuli: the name of the stimulus set that models are shown.
        measure: the function of :mod:`bsjax.labelled.tuning.experiments` that does to models what was done to neurons.
        neurons: what was recorded, in words.
        published: whether the package has the recording: its histograms are in the paper.
        paper: its key in ``publications.bib``.
    """

    dataset: str
    stimuli: str
    measure: str
    neurons: str
    published: bool
    paper: str


class Row(NamedTuple):
    """One benchmark: one property of the neurons of a recording.

    Attributes:
        identifier: of the benchmark.
        recording: the neurons.
        property_name: of the property, in ``neuroid_property``.
        parent: what it is averaged under.
        unit: of the property; "" for an index or a ratio.
    """

    identifier: str
    recording: Recording
    property_name: str
    parent: str
    unit: str = ""

    @property
    def summary(self) -> str:
        """One line for listings."""
        needs = "" if self.recording.published else " (data from S3)"
        words = self.property_name.replace("_", " ")
        return f"{self.recording.neurons}, {words}{needs}; distributions, Kolmogorov-Smirnov distance"


_CAVANAUGH = Recording(
    "Cavanaugh2002a", "Marques2020_size", "cavanaugh2002_properties", "macaque V1, 190 neurons", True, "cavanaugh2002"
)
_DEVALOIS_A = Recording(
    "DeValois1982a",
    "Marques2020_orientation",
    "devalois1982a_properties",
    "macaque V1, 385 neurons",
    True,
    "devalois1982a",
)
_DEVALOIS_B = Recording(
    "DeValois1982b",
    "Marques2020_spatial_frequency",
    "devalois1982b_properties",
    "macaque V1, 363 neurons",
    True,
    "devalois1982b",
)
_FREEMAN_ZIEMBA = Recording(
    "FreemanZiemba2013_V1_properties",
    "FreemanZiemba2013_properties",
    "freemanziemba2013_properties",
    "macaque V1, neurons, textures",
    False,
    "freeman2013",
)
_RINGACH = Recording(
    "Ringach2002", "Marques2020_orientation", "ringach2002_properties", "macaque V1, neurons", False, "ringach2002"
)
_SCHILLER = Recording(
    "Schiller1976c",
    "Marques2020_spatial_frequency",
    "schiller1976_properties",
    "macaque V1, 87 neurons",
    True,
    "schiller1976",
)


def _rows(paper: str, recording: Recording, *properties: tuple[str, ...]) -> list[Row]:
    """Rows of a recording, each from (end of the identifier, property, parent[, unit])."""
    return [Row(f"Marques2020_{paper}-{end}", recording, *rest) for end, *rest in properties]


_ORTHOGONAL = "orthogonal_preferred_ratio"

ROWS: tuple[Row, ...] = (
    *_rows(
        "Cavanaugh2002",
        _CAVANAUGH,
        ("grating_summation_field", "grating_summation_field", "V1-receptive_field_size", "degrees"),
        ("surround_diameter", "surround_diameter", "V1-receptive_field_size", "degrees"),
        ("surround_suppression_index", "surround_suppression_index", "V1-surround_modulation"),
    ),
    *_rows("DeValois1982", _DEVALOIS_A, ("pref_or", "preferred_orientation", "V1-orientation", "degrees")),
    *_rows(
        "DeValois1982",
        _DEVALOIS_B,
        ("peak_sf", "peak_spatial_frequency", "V1-spatial_frequency", "cycles per degree"),
    ),
    *_rows(
        "FreemanZiemba2013",
        _FREEMAN_ZIEMBA,
        ("texture_modulation_index", "texture_modulation_index", "V1-texture_modulation"),
        ("abs_texture_modulation_index", "absolute_texture_modulation_index", "V1-texture_modulation"),
        ("texture_selectivity", "texture_selectivity", "V1-response_selectivity"),
        ("texture_sparseness", "texture_sparseness", "V1-response_selectivity"),
        ("texture_variance_ratio", "variance_ratio", "V1-response_selectivity"),
        ("max_texture", "max_texture", "V1-response_magnitude", "spikes per second"),
        ("max_noise", "max_noise", "V1-response_magnitude", "spikes per second"),
    ),
    *_rows(
        "Ringach2002",
        _RINGACH,
        ("circular_variance", "circular_variance", "V1-orientation"),
        ("or_bandwidth", "bandwidth", "V1-orientation", "degrees"),
        ("orth_pref_ratio", _ORTHOGONAL, "V1-orientation"),
        ("or_selective", "orientation_selective", "V1-orientation"),
        ("cv_bandwidth_ratio", "circular_variance_bandwidth_ratio", "V1-orientation", "1/degree"),
        ("opr_cv_diff", f"{_ORTHOGONAL}_circular_variance_difference", "V1-orientation"),
        ("max_dc", "max_dc", "V1-response_magnitude", "spikes per second"),
        ("modulation_ratio", "modulation_ratio", "V1-response_selectivity"),
    ),
    *_rows(
        "Schiller1976",
        _SCHILLER,
        ("sf_selective", "spatial_frequency_selective", "V1-spatial_frequency"),
        ("sf_bandwidth", "spatial_frequency_bandwidth", "V1-spatial_frequency", "percent"),
    ),
)
"""The benchmarks. Seven come with their data; for the others, those are loaded from S3 when one scores."""


def benchmark(identifier: str) -> PropertiesBenchmark:
    """One of the benchmarks; its data are loaded when they are first needed.

    Args:
        identifier: one of ``ROWS``.

    Raises:
        ValueError: another identifier.

    Example:
        >>> benchmark("Marques2020_Schiller1976-sf_bandwidth").ceiling
        Score(0.9325 ± 0.0309, 1 - KS/max)
    """
    from bsjax.benchmarks.families.marques2020.histograms import recorded
    from bsjax.benchmarks.families.marques2020.properties import PropertiesBenchmark
    from bsjax.data import load_dataset
    from bsjax.labelled import load_metric
    from bsjax.labelled.tuning import experiments as tuning

    row = {row.identifier: row for row in ROWS}.get(identifier)
    if row is None:
        raise ValueError(f"no benchmark {identifier!r} here; there are {', '.join(row.identifier for row in ROWS)}")
    recording = row.recording
    load = cast("Callable[[str], PropertyAssembly]", recorded if recording.published else load_dataset)
    return PropertiesBenchmark(
        identifier,
        assembly=partial(load, recording.dataset),
        neuronal_property=getattr(tuning, recording.measure),
        similarity_metric=load_metric("ks_similarity", property_name=row.property_name, ns=1000),
        timebins=[_TIME_BIN],
        version=_VERSION,
        parent=row.parent,
        bibtex="\n\n".join(map(publication, (recording.paper, "marques2021"))),
        stimulus_set=recording.stimuli,
        unit=row.unit,
        about=recording.neurons,
    )
