"""Benchmarks of single-neuron properties, each built from its row."""

from collections.abc import Callable
from functools import partial
from typing import cast

from bsjax.benchmarks.families.marques2020.histograms import recorded
from bsjax.benchmarks.families.marques2020.properties import PropertiesBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import PropertyAssembly, load_dataset
from bsjax.labelled import load_metric
from bsjax.labelled.tuning import experiments as tuning


def properties(row: BenchmarkRow) -> PropertiesBenchmark:
    """A benchmark on one property of recorded neurons; its data are loaded when first needed.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Marques2020_Schiller1976-sf_bandwidth").ceiling
        Score(0.9325 ± 0.0309 [0.8719, 0.9930], 1 - KS/max)
    """
    load = cast("Callable[[str], PropertyAssembly]", recorded if row.with_data else load_dataset)
    return PropertiesBenchmark(
        row.identifier,
        assembly=partial(load, row.data[0]),
        neuronal_property=getattr(tuning, row.settings["measure"]),
        similarity_metric=load_metric(row.metric, property_name=row.settings["property"].replace(" ", "_"), ns=1000),
        timebins=row.time_bins,
        version=row.version or 1,
        parent=row.parent,
        bibtex=row.bibtex,
        stimulus_set=row.stimuli,
        number_of_trials=row.number_of_trials,
        unit=row.settings["unit"],
        about=row.about,
    )
