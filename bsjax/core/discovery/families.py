"""Declaration files of the benchmark families of bsjax."""

from pathlib import Path

_FAMILIES = Path(__file__).parents[2] / "benchmarks" / "families"


def family_files(name: str) -> dict[str, Path]:
    """Find the files with a name in the folders of the families: family -> path. Nothing is imported.

    Args:
        name: "rows.toml" for benchmarks, "publications.bib" for citations, "import.json" for data that are imported
            from a public repository and loaded by code of the family.

    Example:
        >>> "geirhos2021" in family_files("rows.toml"), family_files("no such file")
        (True, {})
    """
    return {path.parent.name: path for path in sorted(_FAMILIES.glob(f"*/{name}"))}
