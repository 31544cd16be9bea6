import numpy as np

from bsjax import load_dataset
from bsjax.benchmarks import BenchmarkBase
from bsjax.benchmarks import place_on_screen
from bsjax.benchmarks.families.coggan2024_fmri.benchmark import RSA, ceiler, get_ceiling, get_score

BIBTEX = """@article{author2024, title={Your Paper Title}, author={Author, A.}, year={2024}}"""


class Coggan2024_fMRI_Benchmark(BenchmarkBase):
    def __init__(self, identifier, assembly, ceiling_func, visual_degrees, **kwargs):
        super().__init__(identifier=identifier, ceiling_func=ceiling_func, **kwargs)
        self._assembly = assembly  # Pre-computed human RSM (not raw fMRI)
        self._visual_degrees = visual_degrees
        self.region = np.unique(assembly['region'])[0]

    def __call__(self, candidate):
        # Scale stimuli
        stimulus_set = place_on_screen(
            self._assembly.stimulus_set,
            target_visual_degrees=candidate.visual_degrees(),
            source_visual_degrees=self._visual_degrees
        )

        # Get model activations
        candidate.start_recording(self.region, time_bins=[(0, 250)])
        source_assembly = candidate.look_at(stimulus_set, number_of_trials=1)

        # Compute RSM (Representational Similarity Matrix) from model
        source_rsm = RSA(source_assembly)

        # Compare model RSM to human fMRI RSM
        raw_score = get_score(source_rsm, self._assembly)
        ceiling = self._ceiling_func(self._assembly)
        return ceiler(raw_score, ceiling)


def _Coggan2024_Region(region: str):
    assembly = load_dataset('Coggan2024_fMRI')
    assembly = assembly.sel(region=region)
    return Coggan2024_fMRI_Benchmark(
        identifier=f'tong.Coggan2024_fMRI.{region}-rdm',
        version=1,
        assembly=assembly,
        visual_degrees=9,
        ceiling_func=get_ceiling,
        parent=region,
        bibtex=BIBTEX
    )
