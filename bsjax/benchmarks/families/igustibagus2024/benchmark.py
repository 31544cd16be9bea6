"""Read-outs of IT that generalise: Igusti Bagus, Marques, Sanghavi, DiCarlo & Schrimpf (2022).

Images of ten objects in thirteen domains: rendered objects on natural backgrounds (hvm), the same as outlines or
silhouettes, drawings, paintings and mosaics, photographs, and other renderings. The objects are read out of a model's
IT on images of hvm; the benchmark is how well this read-out tells them apart in all domains.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bsjax.benchmarks.ceilings import constant_ceiling
from bsjax.benchmarks.kinds.recording import RecordingBenchmark, stimuli_digest
from bsjax.data import StimulusSet, load_stimulus_set
from bsjax.labelled import Score
from bsjax.labelled.align import coordinate
from bsjax.labelled.behaviour.domain_transfer import DomainTransferAccuracy

if TYPE_CHECKING:
    from bsjax.models import BrainModel

BIBTEX = """@inproceedings{bagus2022primate,
  title = {Primate Inferotemporal Cortex Neurons Generalize Better to Novel Image Distributions Than Analogous Deep
    Neural Networks Units},
  author = {Bagus, Ayu Marliawaty I Gusti and Marques, Tiago and Sanghavi, Sachi and DiCarlo, James J. and
    Schrimpf, Martin},
  booktitle = {SVRHM 2022 Workshop at NeurIPS},
  year = {2022}
}"""

_WITH_BACKGROUNDS = ("convex_hull", "outline", "skeleton", "silhouette")
# Domain -> its stimulus_source, and its object_style where the source has several.
_DOMAINS: dict[str, tuple[str, str | None]] = {
    "hvm": ("Silhouette", "original"),
    **{style: ("Art", style) for style in ("cartoon", "line_drawing", "mosaic", "painting", "sketch")},
    **{style: ("Silhouette", style) for style in _WITH_BACKGROUNDS},
    "cococolor": ("COCOColor", None),
    "cocogray": ("COCOGray", None),
    "tdw": ("TDW", None),
}


class ReadoutAccuracy(RecordingBenchmark):
    """How well objects are told apart in a model's IT, in all domains, by a read-out that was fitted in one.

    Args:
        splits: how often training and test images are drawn.

    Example:
        >>> ReadoutAccuracy().metric.splits
        1000
    """

    def __init__(self, splits: int = 1000) -> None:
        super().__init__(
            "Igustibagus2024.IT_readout-accuracy",
            region="IT",
            time_bins=[(70, 170)],
            visual_degrees=8,
            metric=DomainTransferAccuracy("hvm", _WITH_BACKGROUNDS, splits=splits),
            stimuli="images of ten objects in 13 domains of Igustibagus2024",
            compared=(
                "with no brain: the accuracy of choices between two objects, by a ridge classifier of the recordings, "
                f"fitted to the hvm images but 30 and tested on 30 images of each domain, {splits} times; chance is 0.5"
            ),
            ceiling="no normalisation; ceiling: 1, all choices right",
            ceiling_func=constant_ceiling(1.0, "all choices right"),
            version=1,
            parent="engineering",
            bibtex=BIBTEX,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``.

        Returns:
            The accuracy; ``score.raw`` has that of every split and domain.

        Raises:
            ValueError: the model cannot record from IT.
        """
        start = datetime.now(UTC)
        stimuli = of_thirteen_domains(load_stimulus_set("Igustibagus2024"))
        recording = self.recording(self.on_screen(stimuli, candidate), candidate)
        names = ("domain", "object_label", "background_id")
        recording = recording.assign_coords({name: ("presentation", stimuli[name].to_numpy()) for name in names})
        return self.labelled(
            self.metric(recording),
            candidate,
            start=start,
            region=self.region,
            stimuli=stimuli_digest(stimuli),
            n_stimuli=len(stimuli),
        )


def of_thirteen_domains(stimuli: StimulusSet) -> StimulusSet:
    """The stimuli that belong to one of the domains, with a column ``domain``.

    Args:
        stimuli: with the columns ``stimulus_source``, ``object_style``, ``object_label`` and ``background_id``.

    Raises:
        ValueError: a column is missing.

    Example:
        >>> columns = {"stimulus_source": ["Art", "TDW", "Art"], "object_style": ["sketch", "nan", "textures"]}
        >>> stimuli = StimulusSet({"stimulus_id": list("abc"), **columns, "object_label": "dog", "background_id": 0})
        >>> of_thirteen_domains(stimuli)["domain"].tolist()
        ['sketch', 'tdw']
    """
    missing = {"stimulus_source", "object_style", "object_label", "background_id"} - set(stimuli.columns)
    if missing:
        raise ValueError(
            f"the stimuli have no column {', '.join(sorted(missing))}; they have {', '.join(map(str, stimuli.columns))}"
        )
    source, style = (stimuli[name].astype(str).to_numpy() for name in ("stimulus_source", "object_style"))
    domain = np.full(len(stimuli), "", dtype=object)
    for name, (of_source, of_style) in _DOMAINS.items():
        domain[(source == of_source) & ((style == of_style) | (of_style is None))] = name
    return StimulusSet(stimuli.assign(domain=domain)[domain != ""])


def drop_shared_backgrounds(
    train: np.ndarray, test: np.ndarray, assembly: xr.DataArray
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a split, without those training rows whose background is also in the test rows.

    Args:
        train, test: rows of ``assembly``.
        assembly: with ``background_id`` on presentation; 0 is no background and may be in both.

    Returns:
        The training rows that stay, and the test rows.

    Raises:
        ValueError: there is no ``background_id``.

    Example:
        >>> rows = xr.DataArray([0.0] * 4, {"background_id": ("presentation", [0, 7, 8, 7])}, ["presentation"])
        >>> drop_shared_backgrounds(np.array([0, 1, 2]), np.array([3]), rows)[0].tolist()
        [0, 2]
    """
    background = coordinate(assembly, "background_id", "presentation", "the source")
    shared = np.isin(background[train], background[test]) & (background[train] != 0)
    return train[~shared], test


readout_accuracy = ReadoutAccuracy
