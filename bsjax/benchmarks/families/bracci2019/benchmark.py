"""Human ventral temporal cortex and look-alikes: Bracci, Ritchie, Kalfas & Op de Beeck (2019).

fMRI patterns of 12 subjects to 27 images: nine animals, nine objects that look like these animals, and nine ordinary
objects. The benchmark compares dissimilarities in anterior ventral temporal cortex.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.data_digest import assembly_digest
from bsjax.benchmarks.kinds.recording import RecordingBenchmark, stimuli_digest
from bsjax.data import DataAssembly, NeuroidAssembly, load_dataset, load_stimulus_set
from bsjax.labelled import Score, load_metric
from bsjax.labelled.align import coordinate
from bsjax.labelled.normalise import ceil_score
from bsjax.labelled.similarity.subject_rdms import SubjectAgreement, correlation_distances, square

if TYPE_CHECKING:
    from bsjax.models import BrainModel

BIBTEX = """@article{bracci2019ventral,
  title = {The Ventral Visual Pathway Represents Animal Appearance over Animacy, Unlike Human Behavior and Deep Neural
    Networks},
  author = {Bracci, Stefania and Ritchie, J. Brendan and Kalfas, Ioannis and {Op de Beeck}, Hans P.},
  journal = {Journal of Neuroscience},
  volume = {39},
  number = {33},
  pages = {6513--6525},
  year = {2019},
  doi = {10.1523/JNEUROSCI.1714-18.2019},
  url = {https://doi.org/10.1523/JNEUROSCI.1714-18.2019}
}"""

# How the data number their regions: 0 is V1, 1 posterior and 2 anterior ventral temporal cortex.
_ANTERIOR_VTC = 2


class AnteriorVTC(RecordingBenchmark):
    """Dissimilarities of images in a model's IT, against those in human anterior ventral temporal cortex.

    Example:
        >>> AnteriorVTC().identifier
        'Bracci2019.anteriorVTC-rdm'
    """

    def __init__(self) -> None:
        super().__init__(
            "Bracci2019.anteriorVTC-rdm",
            region="IT",
            time_bins=[(70, 170)],
            visual_degrees=8,
            metric=load_metric("rdm"),
            normalisation="ceil_score",
            stimuli="the 27 images of Bracci2019 (animals, look-alikes, objects)",
            compared=(
                "fMRI of human anterior ventral temporal cortex, each voxel without its mean, averaged over subjects: "
                "Spearman correlation of dissimilarity matrices (rdm)"
            ),
            ceiling=(
                "the score over the ceiling; ceiling: Spearman correlation of each subject's matrix with the mean of "
                "the others', averaged over subjects"
            ),
            ceiling_func=Ceiling(SubjectAgreement("lower"), _subject_rdms),
            version=1,
            parent="Bracci2019",
            bibtex=BIBTEX,
        )

    @cached_property
    def target(self) -> NeuroidAssembly:
        """The responses averaged over subjects, (presentation, neuroid), one neuroid for each voxel index."""
        return averaged_over_subjects(centred_responses())

    @cached_property
    def _digest(self) -> str:
        return assembly_digest(self.target)

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``.

        Returns:
            The correlation over the ceiling, neither squared nor bounded.

        Raises:
            ValueError: the model cannot record from IT.
        """
        start = datetime.now(UTC)
        stimuli = load_stimulus_set("Bracci2019")
        recording = self.recording(self.on_screen(stimuli, candidate), candidate)
        score = ceil_score(self.metric(recording, self.target), self.ceiling)
        return self.labelled(
            score,
            candidate,
            start=start,
            region=self.region,
            data=self._digest,
            stimuli=stimuli_digest(stimuli),
            n_stimuli=len(stimuli),
        )


def centred_responses() -> NeuroidAssembly:
    """Responses of anterior ventral temporal cortex, each voxel of each subject without its mean over images.

    Voxels without a value for every image are left out.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the data cannot be had.
        ValueError: the data have no ``roi``, or none of this region.
    """
    assembly = load_dataset("Bracci2019").transpose("presentation", "neuroid")
    inside = coordinate(assembly, "roi", "neuroid", "Bracci2019") == _ANTERIOR_VTC
    assembly = assembly.isel(neuroid=inside & np.isfinite(assembly.values).all(axis=0))
    if not assembly.sizes["neuroid"]:
        raise ValueError(f"Bracci2019 has no voxels whose roi is {_ANTERIOR_VTC}, anterior ventral temporal cortex")
    return NeuroidAssembly(assembly - assembly.mean("presentation"))


def averaged_over_subjects(responses: NeuroidAssembly) -> NeuroidAssembly:
    """The mean over the subjects that have a voxel of this index.

    Args:
        responses: (presentation, neuroid) with ``voxels``, the index of a voxel in its subject.

    Returns:
        (presentation, neuroid), with ``voxels`` in ascending order.

    Example:
        >>> responses = NeuroidAssembly([[1.0, 3.0, 5.0]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "voxels": ("neuroid", [7, 7, 8])})
        >>> averaged_over_subjects(responses).values.tolist()
        [[2.0, 5.0]]
    """
    voxels, column = np.unique(coordinate(responses, "voxels", "neuroid", "responses"), return_inverse=True)
    total = np.zeros((responses.sizes["presentation"], len(voxels)))
    np.add.at(total.T, column, responses.values.T)
    coords = {str(name): c.variable for name, c in responses.coords.items() if c.dims == ("presentation",)}
    return NeuroidAssembly(
        total / np.bincount(column),
        coords={**coords, "voxels": ("neuroid", voxels)},
        dims=["presentation", "neuroid"],
    )


def _subject_rdms() -> DataAssembly:
    responses = centred_responses()
    subject = coordinate(responses, "subject", "neuroid", "Bracci2019")
    subjects = np.unique(subject)
    rdms = [correlation_distances(responses.isel(neuroid=subject == one)).values for one in subjects]
    return square(np.stack(rdms), responses["stimulus_id"].values, subjects)


anterior_vtc_rdm = AnteriorVTC
