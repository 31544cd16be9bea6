"""Recognition out of distribution: Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann & Brendel (2021).

In 17 experiments, 90 people named which of 16 objects an image showed: sketches, filtered or noisy photographs, or
images with the texture of another object. ``-error_consistency`` measures whether a model errs on the images that
people err on, ``-top1`` its accuracy. Conditions without a manipulation, and those in which people are close to chance,
are excluded.

The data are Brain-Score's ``Geirhos2021_<experiment>``. People's trials are also in a public repository. They are read
from there if ``data=DIR`` names a clone of it, or if Brain-Score's data are not available and
``bsjax data import Geirhos2021`` has been run. A clone has no images: they are expected in its
``datasets/<experiment>``, where the authors' own programs put them. Without images only stored choices can be scored,
see :class:`~bsjax.models.stored_behaviour.StoredBehaviour`.
"""

from pathlib import Path
from typing import Any

from bsjax.benchmarks.families.geirhos2021.trials import labelled_by, people
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.engineering import EngineeringAccuracy
from bsjax.benchmarks.kinds.published_behaviours import behavioural_benchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.messages import some
from bsjax.data import StimulusSet
from bsjax.models import BrainModel
from bsjax.models.brain_model import looks_at_images


class NamingPeople(BehavioralBenchmark):
    """A comparison with people that can also score stored answers when the image files are missing."""

    def stimuli_for(self, candidate: BrainModel) -> StimulusSet:
        """The stimuli as the model sees them; unchanged for a model with stored answers.

        Raises:
            FileNotFoundError: images are missing, and the candidate has to look at them.
        """
        if not looks_at_images(candidate):
            return self.stimuli
        missing = [one for one in self.stimuli["stimulus_id"] if one not in self.stimuli.stimulus_paths]
        if missing:
            name = str(self.stimuli.identifier)
            raise FileNotFoundError(
                f"{len(missing)} of {len(self.stimuli)} images of {name} are not there ({some(missing, 3)}): a public "
                f"repository has only trials; put the images into DIR/datasets/{name.partition('_')[2]} and pass "
                "data=DIR, or score stored choices (--behaviour)"
            )
        return super().stimuli_for(candidate)

    def observe(self, candidate: BrainModel, stimuli: StimulusSet) -> Any:
        """The model's answers, with the true label and the condition of the stimuli."""
        return labelled_by(self.stimuli, super().observe(candidate, stimuli))


class NamingAccuracy(NamingPeople, EngineeringAccuracy):
    """An accuracy that can also be computed from stored answers when the image files are missing."""


def error_consistency(row: BenchmarkRow, data: str | Path | None = None) -> NamingPeople:
    """Whether a model errs on the images that people err on.

    Cohen's kappa with each person, per condition, averaged, and divided by the kappa of people with each other.

    Args:
        row: the row of ``"Geirhos2021<experiment without hyphens>-error_consistency"``.
        data: a clone of https://github.com/bethgelab/model-vs-human, or the folder of its trials.

    Source:
        Geirhos et al. (2021), NeurIPS; Geirhos, Meding & Wichmann (2020), NeurIPS.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Geirhos2021falsecolour-error_consistency")
        >>> benchmark.visual_degrees, benchmark.parent
        (3, 'Geirhos2021')
    """
    return behavioural_benchmark(row, LazyLoad(lambda: people(row, data)), NamingPeople)


def top1(row: BenchmarkRow, data: str | Path | None = None) -> NamingAccuracy:
    """A model's accuracy in naming the object, on images of the included conditions; the ceiling is 1.

    Images have no size in degrees: each fills the model's field of view.

    Args:
        row: the row of ``"Geirhos2021<experiment without hyphens>-top1"``.
        data: as for :func:`error_consistency`.

    Example:
        >>> from bsjax import load_benchmark
        >>> float(load_benchmark("Geirhos2021sketch-top1").ceiling)
        1.0
    """
    return NamingAccuracy(row, lambda: people(row, data).attrs["stimulus_set"])
