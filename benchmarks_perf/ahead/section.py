"""The part of ``docs/performance.md`` that tells what programs are on accelerators that were not there."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .devices import DEVICES, Device
from .programs import LAYERS
from .results import CODE_BYTES, COMPILED_WITHIN_S, WITHIN_FLOOR, floor_s, read

_HEADINGS = (
    "program",
    "compiled in",
    "code",
    "kernels",
    "steps",
    "host reads",
    "at least",
    f"{LAYERS} at once",
    "above the floor",
    "memory",
    "libraries",
)


def rendered(folder: Path) -> str:
    """A table for each device with results, and what exceeds its bounds; "" without any.

    Args:
        folder: of the results.
    """
    found = {plugin: read(plugin, folder) for plugin in DEVICES}
    parts = [_of_device(DEVICES[plugin], programs, plugin) for plugin, programs in found.items() if programs]
    if not parts:
        return ""
    return "\n\n".join([_opening(), *parts])


def _opening() -> str:
    return (
        "## Compiled for accelerators, ahead of time\n\n"
        "`make ahead` compiles every program for devices that are not there, and counts in the compiled text. Nothing "
        "here was run: *at least* is the sum over kernels of the greater of their operations by the device's rate and "
        "their bytes by that of its memory, and what launching them takes. Of a conditional the branch that takes "
        "less time counts; a loop whose length the data decide counts as one turn and is marked with a +. A long "
        "vector that XLA leaves to NVIDIA's library to sort where there is a GPU, and only there, counts as sorted by "
        "it. All is in float32 with products at highest precision.\n\n"
        f"- *compiled in*: one source, and {LAYERS} sources at once; the lesser of the time that passed and that of "
        "the processor, as others may have used the cores.\n"
        "- *steps*: turns of loops, one after the other; *host reads*: how often the host waits for a value before "
        f"it goes on. *kernels*, *steps* and *host reads* are of {LAYERS} sources at once, where there are sources.\n"
        f"- *above the floor*: {LAYERS} at once by the least that the algorithm can take on the device: its steps as "
        "`benchmarks_perf/floors.py` counts them, each launched once.\n"
        "- *libraries*: calls of factorisations, and sorts; in brackets what only a branch has that usual data do "
        "not take."
    )


def _of_device(device: Device, programs: Mapping[str, Any], plugin: str) -> str:
    lines = [_line(_HEADINGS), _line(["---", *["---:"] * (len(_HEADINGS) - 2), "---"])]
    lines += [_line([f"**{name}**", *_cells(device, name, found)]) for name, found in programs.items()]
    about = f"Compiled by {_compilers(programs)}. Rates: {device.source}."
    return "\n".join([f"### {device.name}\n", f"{about}\n", *lines, "", *_verdicts(plugin, programs)])


def _compilers(programs: Mapping[str, Any]) -> str:
    named = {found.get("compiler") for by_layers in programs.values() for found in by_layers.values()}
    return ", ".join(sorted(name for name in named if name))


def _cells(device: Device, name: str, found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    one, many = found.get("1", {}), found.get(str(LAYERS), {})
    shown = many if "seconds" in many else one
    above = _above(device, name, many)
    in_branches = shown.get("in_rare_branches", {})
    usual = {call: count - in_branches.get(call, 0) for call, count in shown.get("calls", {}).items()}
    calls = [*(call for call, count in usual.items() if count), *(f"({call})" for call in in_branches)]
    return [
        " / ".join(_compiled(each) for each in (one, many) if each),
        "" if not shown.get("code_bytes") else f"{shown['code_bytes'] / 1e6:.1f} MB",
        _count(shown.get("launches")),
        _count(shown.get("steps")) + ("+" if _data_decide(shown) else ""),
        _count(shown.get("reads")),
        _seconds(one.get("seconds")),
        _seconds(many.get("seconds")),
        "" if above is None else f"{above:.1f}×",
        "" if "temporary_bytes" not in shown else f"{shown['temporary_bytes'] / 1e6:.0f} MB",
        ", ".join(call.replace("_ffi", "").replace("$", "\\$") for call in calls),
    ]


def _above(device: Device, name: str, many: Mapping[str, Any]) -> float | None:
    floor = floor_s(name, LAYERS, device)
    return None if floor is None or "seconds" not in many else many["seconds"] / floor


def _data_decide(found: Mapping[str, Any]) -> bool:
    return any(loop["turns"] is None and not loop["rare"] for loop in found.get("loops", []))


def _verdicts(plugin: str, programs: Mapping[str, Any]) -> list[str]:
    """What exceeds the bounds, one line for each of them."""
    device = DEVICES[plugin]
    each = [
        (f"{name} ({layers} at once)" if layers != "1" else name, name, found)
        for name, by_layers in programs.items()
        for layers, found in by_layers.items()
    ]
    kept = [one for one in each if "failed" not in one[2]]
    slow = [said for said, _, found in kept if _compile_s(found) > COMPILED_WITHIN_S[plugin]]
    failed = [said for said, _, found in each if "failed" in found]
    large = [said for said, _, found in kept if (found["code_bytes"] or 0) > CODE_BYTES]
    rare = [said for said, _, found in kept if found["in_rare_branches"]]
    far = [
        f"{said}: {above:.1f}×, most of it {_longest(found)}"
        for said, name, found in kept
        if said != name and (above := _above(device, name, found)) is not None and above > WITHIN_FLOOR
    ]
    wrong = [said for said, _, found in kept if found["callbacks"] or found["has_float64"] or _low(found)]
    within = f"more than {COMPILED_WITHIN_S[plugin]:.0f} s to compile"
    lines = [
        (f"Took {within}", slow),
        ("Did not compile in time", failed),
        (f"Code of more than {CODE_BYTES / 1e6:.0f} MB", large),
        ("Sorts or decomposes in a branch that usual data do not take", rare),
        (f"More than {WITHIN_FLOOR:.0f} times the floor", far),
        ("Calls the host, has float64, or multiplies below full precision", wrong),
    ]
    return [f"- {what}: {'; '.join(names) if names else 'none'}." for what, names in lines]


def _longest(found: Mapping[str, Any]) -> str:
    """The two operations that take most of the time, with their share."""
    said = (f"{one['what']} ({100 * one['seconds'] / found['seconds']:.0f} %)" for one in found["longest"][:2])
    return ", ".join(said).replace("$", "\\$")


def _low(found: Mapping[str, Any]) -> bool:
    return any(precision == "default" for precision in found["precisions"])


def _compiled(found: Mapping[str, Any]) -> str:
    return "—" if "failed" in found else f"{_compile_s(found):.1f} s"


def _compile_s(found: Mapping[str, Any]) -> float:
    return min(found["compile_s"], found["compile_cpu_s"])


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value * 1e3:.3g} ms"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
