import numpy as np

from bsjax import Score
from bsjax import load_dataset, load_metric
from bsjax.benchmarks import BenchmarkBase, ceil_score
from bsjax.benchmarks import place_on_screen
from bsjax.benchmarks.families.kar2019.benchmark import temporally_varying

BIBTEX = """@article{author2024, title={Your Paper Title}, author={Author, A.}, year={2024}}"""

# Time bins: 10ms windows from 70-250ms (captures temporal dynamics)
TIME_BINS = [(t, t + 10) for t in range(70, 250, 10)]


class DicarloKar2019OST(BenchmarkBase):
    def __init__(self):
        # Ceiling computed offline (not split-half, custom calculation)
        ceiling = Score(.79)
        super().__init__(
            identifier='Kar2019-ost',
            version=2,
            ceiling_func=lambda: ceiling,
            parent='IT',
            bibtex=BIBTEX
        )
        # Load data and metric in __init__
        self._assembly = load_dataset('Kar2019')
        self._similarity_metric = load_metric('ost')  # Object Solution Time metric
        self._visual_degrees = 8
        self._time_bins = TIME_BINS

    def __call__(self, candidate):
        # Start temporal recording (multiple time bins)
        candidate.start_recording('IT', time_bins=self._time_bins)

        # Scale stimuli to model's visual field
        stimulus_set = place_on_screen(
            self._assembly.stimulus_set,
            target_visual_degrees=candidate.visual_degrees(),
            source_visual_degrees=self._visual_degrees
        )

        # Quick check: reject static models that can't predict temporal dynamics
        check_recordings = candidate.look_at(stimulus_set[:1], number_of_trials=44)
        if not temporally_varying(check_recordings):
            return Score(np.nan)  # Early exit for incompatible models

        # Full evaluation
        recordings = candidate.look_at(stimulus_set, number_of_trials=44)
        score = self._similarity_metric(recordings, self._assembly)
        return ceil_score(score, self.ceiling)
