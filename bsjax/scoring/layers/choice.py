"""Choice of layers for regions, with every candidate scored from one pass of the model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
import xarray as xr

from bsjax.activations.checks import listed_layers
from bsjax.benchmarks import NeuralBenchmark, load_benchmark
from bsjax.benchmarks.experiment import TimeBins, squeeze_time, timebins_from_assembly
from bsjax.core.discovery import not_exiting
from bsjax.core.watching import steps
from bsjax.engine.tolerances import SAME_FEATURES_POWER, rounding
from bsjax.inference.calibration import calibrated_maximum
from bsjax.labelled.align import at_positions
from bsjax.labelled.layers import Scored, SharedTarget, nested_choice, scored_together
from bsjax.labelled.regression.stimulus_coordinates import in_stimulus_coordinates
from bsjax.labelled.resampling.calibration import null_of, with_null
from bsjax.labelled.resampling.permutations import Permutations
from bsjax.models import ModelCommitment, RecordingTarget, load_model
from bsjax.models.brain_model import region_name
from bsjax.scoring.display.bars import shown
from bsjax.scoring.layers.bootstrap import share_of_other_winners, share_of_other_winners_by_jackknife
from bsjax.scoring.layers.profile import LayerChoice, RegionChoice

if TYPE_CHECKING:
    from bsjax.adapters import ActivationsModel
    from bsjax.data import NeuroidAssembly, StimulusSet
    from bsjax.labelled import Score

PUBLIC = {
    "V1": "FreemanZiemba2013public.V1-pls",
    "V2": "FreemanZiemba2013public.V2-pls",
    "V4": "MajajHong2015public.V4-pls",
    "IT": "MajajHong2015public.IT-pls",
}
"""The benchmarks by which Brain-Score chooses layers."""


def choose_layers(
    model: str | ModelCommitment | ActivationsModel,
    layers: Sequence[str] | None = None,
    benchmarks: Mapping[str, str | NeuralBenchmark] | None = None,
    *,
    nested: bool = True,
    n_bootstrap: int = 1000,
    seed: int = 0,
    null: Permutations | int | None = None,
    progress: bool | None = None,
) -> LayerChoice:
    """Score every candidate layer on each region's benchmark, and choose the best for each region.

    The model runs once over the stimuli of a benchmark for all layers, and once for all benchmarks that share stimuli.
    Splits, averages and ceiling of the data are computed once. Layers are padded to one shape so that they share one
    compiled program. In host memory, one layer's features are held at a time; layers on an accelerator stay there and
    are scored together. Every score equals that of the layer scored alone.

    The score of the layer that was selected as best on some data is biased upwards on these data. With ``nested``, the
    choice is repeated in every fold from the training stimuli alone and scored on the test stimuli. That score is
    unbiased by the selection. Report it if no other data are available.

    Args:
        model: a :class:`~bsjax.ModelCommitment`, its identifier, or an activations model.
        layers: the candidates; by default the commitment's ``layers``, else all layers of the activations model.
        benchmarks: region -> a :class:`~bsjax.benchmarks.NeuralBenchmark` or its identifier; by default those of
            Brain-Score, its public data for V1, V2, V4 and IT with PLS (:data:`PUBLIC`).
        nested: whether to compute the nested score, at up to six times the cost.
        n_bootstrap: number of resamples for the share in which another layer wins.
        seed: for those resamples.
        null: also score the layers after this many permutations of the stimuli, the same for all layers, to compare
            the best layer with the best by chance: a number, or a :class:`bsjax.Permutations`. For a regression, each
            permutation costs as much as its score.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.

    Returns:
        The choice, with the score of every layer, the margin to the runner-up and the nested score. If scores are
        equal up to rounding, such as those of one layer under two names, the first layer in the order of computation
        is chosen, and the choice lists the others.

    Raises:
        KeyError: a benchmark is unknown.
        ValueError: there is no candidate; the model lacks a candidate; a benchmark is of another kind; or no layer has
            a score. A single layer without a score is left out with a warning.
        RuntimeError: code of the model called ``sys.exit``.

    Example:
        >>> import bsjax
        >>> choice = bsjax.choose_layers("gabor-v1", benchmarks={"V1": "Simulated.V1-cka"})
        >>> choice.region_layer_map
        {'V1': 'complex'}
        >>> choice.profile.dims, choice.profile.sizes["layer"]
        (('region', 'layer'), 2)
    """
    comparisons = _benchmarks(PUBLIC if benchmarks is None else benchmarks)
    found: Any = load_model(model) if isinstance(model, str) else model
    committed = found if isinstance(found, ModelCommitment) else ModelCommitment(found.identifier, found)
    plan = Permutations.of(null)
    with not_exiting(), shown(progress=progress):
        candidates = _candidates(committed, layers)
        scored: dict[str, dict[str, Scored]] = {region: {} for region in comparisons}
        refused: dict[str, dict[str, str]] = {region: {} for region in comparisons}
        waiting: dict[str, dict[str, xr.DataArray]] = {region: {} for region in comparisons}

        def score_waiting(region: str, target: SharedTarget) -> None:
            for layer, one in scored_together(target, waiting[region]).items():
                if isinstance(one, ValueError):
                    refused[region][layer] = str(one)
                elif plan is None:
                    scored[region][layer] = one
                else:
                    sides = [waiting[region][layer]], [target.target]
                    nulls = target.metric.permuted_values
                    scored[region][layer] = one._replace(score=with_null(one.score, nulls, *sides, plan))
            waiting[region] = {}

        for stimuli, regions in _by_stimuli(committed, comparisons):
            targets = {r: SharedTarget(comparisons[r].metric, comparisons[r].target, nested) for r in regions}
            time_bins = timebins_from_assembly(comparisons[regions[0]].target)
            recorded = _recordings(committed, candidates, stimuli, time_bins)
            for layer, source in steps(recorded, f"layers against {', '.join(regions)}", len(candidates)):
                in_shape: dict[tuple[Any, Any], xr.DataArray] = {}
                for region, target in targets.items():
                    form = target.metric.depends_on, target.metric.dtype
                    try:
                        target.metric.check_width(source, target.target)
                        if form not in in_shape:
                            in_shape[form] = in_stimulus_coordinates(source, *form)
                    except ValueError as error:
                        refused[region][layer] = str(error)
                        continue
                    waiting[region][layer] = in_shape[form]
                    if not isinstance(source.data, jax.Array):  # one host layer in memory at a time
                        score_waiting(region, target)
            for region, target in targets.items():
                score_waiting(region, target)
    chosen = {}
    for region, benchmark in comparisons.items():
        _report_refused(committed.identifier, benchmark.identifier, refused[region], bool(scored[region]))
        chosen[region] = _choice(committed, region, benchmark, scored[region], candidates, n_bootstrap, seed)
    return LayerChoice(committed, candidates, chosen)


def _benchmarks(wanted: Mapping[str, str | NeuralBenchmark]) -> dict[str, NeuralBenchmark]:
    """Region -> benchmark, in the order of the ventral stream."""
    if not wanted:
        raise ValueError("no benchmarks to choose layers by; give e.g. benchmarks={'V1': 'Simulated.V1-pls'}")
    found: dict[str, NeuralBenchmark] = {}
    stream = [region for region in RecordingTarget if region in wanted]
    for region in [*stream, *(region for region in wanted if region not in stream)]:
        name = wanted[region]
        benchmark = load_benchmark(name) if isinstance(name, str) else name
        if not isinstance(benchmark, NeuralBenchmark):
            raise ValueError(
                f"layers are chosen by neural benchmarks (bsjax.benchmarks.NeuralBenchmark) or their identifiers, "
                f"got {type(benchmark).__name__} for {region}"
            )
        found[region_name(region)] = benchmark
    return found


def _candidates(model: ModelCommitment, layers: Sequence[str] | None) -> list[str]:
    """The candidate layers in the order of the model's computation; layers that it does not list come last.

    A network given as a function may have more layers than it lists; recording an unknown layer raises.
    """
    depth = list(model.activations_model.layers())
    wanted = listed_layers(layers if layers is not None else model.layers or depth)
    if not wanted:
        raise ValueError(f"no candidate layers for model {model.identifier!r}; it has: {', '.join(depth)}")
    order = {layer: place for place, layer in enumerate(depth)}
    return sorted(dict.fromkeys(wanted), key=lambda layer: order.get(layer, len(depth)))


def _by_stimuli(
    model: ModelCommitment, benchmarks: Mapping[str, NeuralBenchmark]
) -> list[tuple[StimulusSet, list[str]]]:
    """The stimuli to show, each with the regions whose data are responses to them in the same time bins."""
    groups: dict[Any, tuple[StimulusSet, list[str]]] = {}
    for region, benchmark in benchmarks.items():
        stimuli = benchmark.stimuli_for(model)
        shown = tuple((i, str(stimuli.stimulus_paths.get(i))) for i in stimuli["stimulus_id"])
        groups.setdefault((shown, tuple(timebins_from_assembly(benchmark.target))), (stimuli, []))[1].append(region)
    return list(groups.values())


def _recordings(
    model: ModelCommitment, layers: list[str], stimuli: StimulusSet, time_bins: TimeBins
) -> Iterator[tuple[str, NeuroidAssembly]]:
    """Every layer's responses, from one pass of the model."""
    by_layer = getattr(model.activations_model, "by_layer", None)
    if by_layer is not None:  # layers may be mapped from files, one at a time
        yield from by_layer(stimuli, layers).items()
        return
    region = RecordingTarget.V1  # any region will do
    all_layers = model.with_region_layers({region: layers})
    all_layers.start_recording(region, time_bins=time_bins)
    recording = squeeze_time(cast("NeuroidAssembly", all_layers.look_at(stimuli)))
    # Units of a layer are contiguous, so a slice is a view and takes no memory.
    of_unit = recording["layer"].values
    for layer in layers:
        units = np.flatnonzero(of_unit == layer)
        yield layer, at_positions(recording, {"neuroid": slice(units[0], units[-1] + 1)})


def _report_refused(model: str, benchmark: str, refused: Mapping[str, str], any_scored: bool) -> None:
    reasons = "; ".join(f"{layer}: {reason}" for layer, reason in refused.items())
    if not any_scored:
        raise ValueError(f"no layer of model {model!r} has a score on {benchmark}: {reasons}")
    if refused:
        warnings.warn(f"without a score on {benchmark}, and so not chosen: {reasons}", stacklevel=3)


def _choice(
    model: ModelCommitment,
    region: str,
    benchmark: NeuralBenchmark,
    scored: Mapping[str, Scored],
    candidates: list[str],
    n_bootstrap: int,
    seed: int,
) -> RegionChoice:
    scores = {
        layer: benchmark.stamped(benchmark.normalise(one.score), model, layers={region: [layer]})
        for layer, one in scored.items()
    }
    values = {layer: float(score) for layer, score in scores.items() if not math.isnan(float(score))}
    if not values:
        raise ValueError(
            f"every layer's score on {benchmark.identifier} is undefined (NaN): {', '.join(scored)}. Its ceiling is "
            f"{float(benchmark.ceiling):.3g}"
        )
    highest, same = max(values.values()), _same_score(scores.values())
    tied = [layer for layer in candidates if layer in values and highest - values[layer] <= same]
    best = tied[0]
    rest = [*tied[1:], *sorted(values.keys() - set(tied), key=lambda layer: -values[layer])]
    nested = nested_choice(scored, benchmark.target)
    recorded = [] if nested is None else [layer for layer in candidates if layer in nested.chosen]
    return RegionChoice(
        region=region,
        benchmark=benchmark.identifier,
        layer=best,
        scores={layer: scores[layer] for layer in candidates if layer in scores},
        runner_up=rest[0] if rest else None,
        margin=math.nan if not rest else 0.0 if tied[1:] else values[best] - values[rest[0]],
        tied=tuple(tied[1:]),
        differs=_differs({layer: scored[layer] for layer in scored if layer in values}, best, n_bootstrap, seed, same),
        nested_score=None
        if nested is None
        else benchmark.stamped(benchmark.normalise(nested.score), model, layers={region: recorded}),
        nested_layers=() if nested is None else nested.chosen,
        by_chance=None
        if null_of(scores[best]) is None
        else calibrated_maximum({name: scores[name] for name in values}),
    )


def _same_score(scores: Iterable[Score]) -> float:
    """The largest difference between the scores of one layer under two names."""
    dtypes = [np.dtype(score.provenance.dtype or "float64") for score in scores]
    return rounding(np.zeros(0, np.result_type(*dtypes)), power=SAME_FEATURES_POWER)


def _differs(scored: Mapping[str, Scored], best: str, n_bootstrap: int, seed: int, same: float) -> float:
    if len(scored) < 2 or n_bootstrap < 1:
        return math.nan
    index = list(scored).index(best)
    raw = [one.score.raw for one in scored.values() if one.score.raw is not None]
    if len(raw) == len(scored) and {(r.dims, r.shape) for r in raw} == {(("split", "neuroid"), raw[0].shape)}:
        return share_of_other_winners([np.asarray(r) for r in raw], index, n_bootstrap, seed, same)
    within = [one.within for one in scored.values() if one.within is not None]
    if len(within) < len(scored):
        return math.nan
    values = np.array([float(one.score) for one in scored.values()])
    return share_of_other_winners_by_jackknife(values, np.stack(within), index, n_bootstrap, seed, same)
