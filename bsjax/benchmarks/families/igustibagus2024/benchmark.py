"""IT read-outs that generalise across domains: Igusti Bagus, Marques, Sanghavi, DiCarlo & Schrimpf (2022).

The stimuli are images of ten objects in thirteen domains: rendered objects on natural backgrounds (hvm), the same as
outlines or silhouettes, drawings, paintings and mosaics, photographs, and other renderings. A read-out of the objects
is fitted to a model's IT responses to hvm images, and the benchmark measures how well it tells the objects apart in all
domains.
"""

import numpy as np
import xarray as xr

from bsjax.benchmarks.ceilings import constant_ceiling
from bsjax.benchmarks.kinds.recording import RecordingBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.labels import require_columns
from bsjax.data import NeuroidAssembly, StimulusSet, load_stimulus_set
from bsjax.labelled import Score
from bsjax.labelled.align import coordinate
from bsjax.labelled.behaviour.domain_transfer import DomainTransferAccuracy

_WITH_BACKGROUNDS = ("convex_hull", "outline", "skeleton", "silhouette")
# Domain -> its stimulus_source, and its object_style if the source has several.
_DOMAINS: dict[str, tuple[str, str | None]] = {
    "hvm": ("Silhouette", "original"),
    **{style: ("Art", style) for style in ("cartoon", "line_drawing", "mosaic", "painting", "sketch")},
    **{style: ("Silhouette", style) for style in _WITH_BACKGROUNDS},
    "cococolor": ("COCOColor", None),
    "cocogray": ("COCOGray", None),
    "tdw": ("TDW", None),
}


class ReadoutAccuracy(RecordingBenchmark):
    """How well a read-out fitted to a model's IT in one domain tells objects apart in all domains.

    Args:
        row: the row of the benchmark.
        splits: number of random splits into training and test images.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Igustibagus2024.IT_readout-accuracy").metric.splits
        1000
    """

    def __init__(self, row: BenchmarkRow, splits: int = 1000) -> None:
        super().__init__(
            row,
            DomainTransferAccuracy("hvm", _WITH_BACKGROUNDS, splits=splits),
            constant_ceiling(1.0, "all choices correct"),
            stimuli=lambda: of_thirteen_domains(load_stimulus_set("Igustibagus2024")),
        )

    def compare(self, observed: NeuroidAssembly) -> Score:
        """The accuracy; ``raw`` has one value for each split and domain."""
        names = ("domain", "object_label", "background_id")
        return self.metric(observed.assign_coords({n: ("presentation", self.stimuli[n].to_numpy()) for n in names}))


def of_thirteen_domains(stimuli: StimulusSet) -> StimulusSet:
    """Select the stimuli that belong to one of the domains, and add a column ``domain``.

    Args:
        stimuli: a set with the columns ``stimulus_source``, ``object_style``, ``object_label`` and ``background_id``.

    Raises:
        ValueError: a column is missing.

    Example:
        >>> columns = {"stimulus_source": ["Art", "TDW", "Art"], "object_style": ["sketch", "nan", "textures"]}
        >>> stimuli = StimulusSet({"stimulus_id": list("abc"), **columns, "object_label": "dog", "background_id": 0})
        >>> of_thirteen_domains(stimuli)["domain"].tolist()
        ['sketch', 'tdw']
    """
    require_columns(stimuli, ["stimulus_source", "object_style", "object_label", "background_id"], "the stimulus set")
    source, style = (stimuli[name].astype(str).to_numpy() for name in ("stimulus_source", "object_style"))
    domain = np.full(len(stimuli), "", dtype=object)
    for name, (of_source, of_style) in _DOMAINS.items():
        domain[(source == of_source) & ((style == of_style) | (of_style is None))] = name
    return StimulusSet(stimuli.assign(domain=domain)[domain != ""])


def drop_shared_backgrounds(
    train: np.ndarray, test: np.ndarray, assembly: xr.DataArray
) -> tuple[np.ndarray, np.ndarray]:
    """Drop the training rows of a split whose background also occurs in its test rows.

    Args:
        train, test: rows of ``assembly``.
        assembly: data with ``background_id`` on presentation; 0 means no background and may occur in both.

    Returns:
        The remaining training rows, and the test rows.

    Raises:
        ValueError: ``background_id`` is missing.

    Example:
        >>> rows = xr.DataArray([0.0] * 4, {"background_id": ("presentation", [0, 7, 8, 7])}, ["presentation"])
        >>> drop_shared_backgrounds(np.array([0, 1, 2]), np.array([3]), rows)[0].tolist()
        [0, 2]
    """
    background = coordinate(assembly, "background_id", "presentation", "the source")
    shared = np.isin(background[train], background[test]) & (background[train] != 0)
    return train[~shared], test
