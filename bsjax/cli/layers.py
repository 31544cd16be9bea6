"""``bsjax layers``: selection of the model layer for each brain region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bsjax.cli.extraction import BatchSize, Cached, Data, Memory, Reducer, ReducerImages, extraction_options
from bsjax.cli.outputs import check_figure, check_outputs, written
from bsjax.cli.plugins import Plugins
from bsjax.cli.terminal import complain, configure_jax, width
from bsjax.core.messages import in_columns

if TYPE_CHECKING:
    from bsjax.scoring.layers.profile import LayerChoice

_COLUMNS = ("region", "layer", "score", "± error", "margin", "runner-up", "nested", "others win", "benchmark")
_BY_CHANCE = "p by chance"


def layers(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Identifier of a model, or source:name.")],
    candidates: Annotated[
        str | None,
        typer.Option(
            "--layers", "-l", metavar="A,B,...", help="Candidate layers. [default: those that the model names]"
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            "-b",
            metavar="REGION=ID",
            help="Benchmark by which to choose the layer of a region; repeatable, or separated by commas. "
            "[default: the public benchmarks of V1, V2, V4 and IT]",
        ),
    ] = None,
    data: Data = None,
    nested: Annotated[
        bool, typer.Option("--nested/--no-nested", help="Also score the choice on held-out stimuli.")
    ] = True,
    null: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Also score N permutations of the stimuli, for the chance level of the best layer."
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the region-to-layer map to this JSON file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the scores by layer, to a .png, .pdf or .svg.")
    ] = None,
    batch_size: BatchSize = None,
    memory: Memory = None,
    reducer: Reducer = None,
    reducer_images: ReducerImages = None,
    cache: Cached = True,
    plugins: Plugins = None,
) -> None:
    """Score every layer of a model for every region, and choose the best.

    The model runs once for all layers. The nested score chooses the layer and scores it on different stimuli, which
    avoids selection bias. "others win" is how often another layer would have been chosen. "p by chance" is how often
    the best of all layers scores as high with permuted stimuli.
    """
    check_outputs({"--save": save, "--plot": plot})
    configure_jax()
    check_figure(plot)
    extraction = extraction_options(batch_size, memory, reducer, reducer_images, cache)
    from bsjax.cli.progress import scoring
    from bsjax.core.watching import stage, watched

    names = None if candidates is None else [name.strip() for name in candidates.split(",") if name.strip()]
    with scoring() as progress, watched(progress):
        with stage(f"loading {model}"):
            from bsjax.models import load_model
            from bsjax.scoring import choose_layers
            from bsjax.scoring.job import Job, Options, built_model

            by_region = _benchmarks(benchmark, data)
            loaded: Any = load_model(_with_layer(model, names))
        if not hasattr(loaded, "activations_model"):
            raise ValueError(f"model {model!r} commits no layers to regions, so there are none to choose from")
        extracting = built_model(Job(loaded, "", Options.of(extraction)))
        choice = choose_layers(extracting, names, by_region, nested=nested, null=null)
    whole = save is None or written("--save", lambda: choice.save(save))
    typer.echo("\n".join([*_profile_lines(choice), "* the chosen layer", "", *_choice_lines(choice)]))
    for region, of_region in choice.regions.items():
        if of_region.note:
            complain(f"{region}: {of_region.note}")
    if plot is not None:
        from bsjax.plots import plot_layer_choice

        whole &= written("--plot", lambda: plot_layer_choice(choice, plot))
    if not whole:
        raise typer.Exit(1)


def _benchmarks(given: Sequence[str] | None, data: Path | None) -> dict[str, Any] | None:
    """Region -> benchmark, from texts ``REGION=ID`` separated by commas."""
    if not given:
        return None
    from bsjax.scoring.job import Job, Options, built_benchmark
    from bsjax.scoring.resolution import arguments_of, found_benchmarks

    wanted: dict[str, str] = {}
    for one in (part.strip() for text in given for part in text.split(",") if part.strip()):
        region, equals, identifier = one.partition("=")
        if not (region and equals and identifier):
            raise ValueError(f"--benchmark takes REGION=ID, e.g. V1=Simulated.V1-pls, got {one!r}")
        if wanted.setdefault(region, identifier) != identifier:
            raise ValueError(f"--benchmark gives two benchmarks for {region}: {wanted[region]} and {identifier}")
    if not wanted:
        raise ValueError("--benchmark takes REGION=ID, e.g. V1=Simulated.V1-pls, got nothing")
    found = found_benchmarks(list(wanted.values()))
    patterns = [identifier for identifier in wanted.values() if identifier not in found]
    if patterns:
        raise ValueError(f"--benchmark takes one benchmark a region, got the pattern {patterns[0]!r}")
    arguments = arguments_of(found, {} if data is None else {"data": data})
    return {
        region: built_benchmark(Job("", identifier, Options.of(benchmark=arguments[identifier])))
        for region, identifier in wanted.items()
    }


def _with_layer(model: str, names: Sequence[str] | None) -> str:
    """The identifier with a layer if it is ``source:name``; any layer will do, as all are scored."""
    return f"{model}@{names[0]}" if ":" in model and "@" not in model and names else model


def _profile_lines(choice: LayerChoice) -> list[str]:
    """A table of the scores of each layer for each region; chosen layers are marked with *."""
    rows = [["layer", *choice.regions]]
    for layer in choice.layers:
        cells = []
        for of_region in choice.regions.values():
            score = of_region.scores.get(layer)
            text = "-" if score is None or math.isnan(float(score)) else f"{float(score):z.3f}"
            cells.append(f"{text}{'*' if layer == of_region.layer else ' '}")
        rows.append([layer, *cells])
    return in_columns(rows, left={0})


def _choice_lines(choice: LayerChoice) -> list[str]:
    shown = [*_COLUMNS, *((_BY_CHANCE,) if any(each.by_chance is not None for each in choice.regions.values()) else ())]
    rows: list[list[str]] = [shown]
    for region, of_region in choice.regions.items():
        score, nested = of_region.scores[of_region.layer], of_region.nested_score
        rows.append(
            [
                region,
                of_region.layer,
                f"{float(score):z.3f}",
                "-" if score.error is None else f"{float(score.error):z.3f}",
                _or_dash(of_region.margin, ".3f"),
                of_region.runner_up or "-",
                "-" if nested is None else f"{float(nested):z.3f}",
                _or_dash(of_region.differs, ".0%"),
                of_region.benchmark,
                *(() if of_region.by_chance is None else (format(of_region.by_chance.p_value, ".3g"),)),
            ]
        )
    lines, columns, last = in_columns(rows, left={0, 1, 5, 8}), width(), _COLUMNS.index("benchmark")
    if columns is None or max(map(len, lines)) <= columns:
        return lines
    chosen = [f"{row[0]} by {row[last]}" for row in rows[1:]]
    return [*in_columns([row[:last] + row[last + 1 :] for row in rows], left={0, 1, 5}), *chosen]


def _or_dash(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)
