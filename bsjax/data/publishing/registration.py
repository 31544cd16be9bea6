"""Python code that registers published data, to paste into a plugin."""

import json
from collections.abc import Mapping
from typing import Any

_IMPORTS = {
    "bsjax": {"registries": "bsjax", "classes": "bsjax.data", "loaders": "bsjax.data"},
    "brainscore_vision": {
        "registries": "brainscore_vision",
        "classes": "brainscore_core.supported_data_standards.brainio.assemblies",
        "loaders": "brainscore_core.supported_data_standards.brainio.s3",
    },
}


def registration_snippet(
    stimulus_set: Mapping[str, Any] | None = None, assembly: Mapping[str, Any] | None = None, library: str = "bsjax"
) -> str:
    """Python code that registers a stimulus set, an assembly, or both, from where they were uploaded.

    Args:
        stimulus_set: the result of ``package_stimulus_set`` or ``upload_stimulus_set``.
        assembly: the result of ``package_data_assembly`` or ``upload_assembly``.
        library: the library to register with: "bsjax" or "brainscore_vision".

    Raises:
        ValueError: neither is given, the data have not been uploaded, or the library is unknown.

    Example:
        >>> print(registration_snippet(assembly={
        ...     "identifier": "Doe2024", "bucket": "doe-lab/data", "version_id": "null", "sha1": "0" * 40,
        ...     "sha256": "0" * 64, "cls": "BehavioralAssembly", "stimulus_set_identifier": None}))
        from bsjax import data_registry
        from bsjax.data import BehavioralAssembly, load_assembly_from_s3
        <BLANKLINE>
        data_registry["Doe2024"] = lambda: load_assembly_from_s3(
            identifier="Doe2024",
            version_id="null",
            sha1="0000000000000000000000000000000000000000",
            bucket="doe-lab/data",
            cls=BehavioralAssembly,
            sha256="0000000000000000000000000000000000000000000000000000000000000000",
        )
        <BLANKLINE>
    """
    if library not in _IMPORTS:
        raise ValueError(f"no registration for {library!r}; there is one for {' and '.join(_IMPORTS)}")
    if stimulus_set is None and assembly is None:
        raise ValueError("give a stimulus set, an assembly, or both, as they were uploaded")
    for given in (stimulus_set, assembly):
        if given is not None and "bucket" not in given:
            raise ValueError(f"{given.get('identifier')!r} has not been uploaded: it has no bucket")
    needed: list[tuple[str, str]] = []
    code = []
    if assembly:
        needed.append(("registries", "data_registry"))
        if assembly["stimulus_set_identifier"] is not None:
            needed.append(("registries", "load_stimulus_set"))
        needed += [("classes", assembly["cls"]), ("loaders", "load_assembly_from_s3")]
        code.append(_assembly(assembly, library))
    if stimulus_set:
        needed += [("registries", "stimulus_set_registry"), ("loaders", "load_stimulus_set_from_s3")]
        code.insert(0, _stimulus_set(stimulus_set, library))
    names: dict[str, list[str]] = {}
    for kind, name in needed:
        names.setdefault(_IMPORTS[library][kind], []).append(name)
    imports = [f"from {module} import {', '.join(of_module)}" for module, of_module in names.items()]
    return "\n\n".join(["\n".join(imports), *code]) + "\n"


def _stimulus_set(uploaded: Mapping[str, Any], library: str) -> str:
    names = ["identifier", "bucket", "csv_sha1", "zip_sha1", "csv_version_id", "zip_version_id"]
    if library == "bsjax":
        names += ["csv_sha256", "zip_sha256"]
    arguments = {name: _literal(uploaded[name]) for name in names}
    return _call("stimulus_set_registry", uploaded["identifier"], "load_stimulus_set_from_s3", arguments)


def _assembly(uploaded: Mapping[str, Any], library: str) -> str:
    arguments = {name: _literal(uploaded[name]) for name in ("identifier", "version_id", "sha1", "bucket")}
    arguments["cls"] = uploaded["cls"]
    if uploaded["stimulus_set_identifier"] is not None:
        arguments["stimulus_set_loader"] = f"lambda: load_stimulus_set({_literal(uploaded['stimulus_set_identifier'])})"
    if library == "bsjax":
        arguments["sha256"] = _literal(uploaded["sha256"])
    return _call("data_registry", uploaded["identifier"], "load_assembly_from_s3", arguments)


def _call(registry: str, identifier: str, loader: str, arguments: Mapping[str, str]) -> str:
    lines = "".join(f"    {name}={value},\n" for name, value in arguments.items())
    return f"{registry}[{_literal(identifier)}] = lambda: {loader}(\n{lines})"


def _literal(value: str | None) -> str:
    return "None" if value is None else json.dumps(value)
