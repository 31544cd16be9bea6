"""Validation of BibTeX entries."""

import re

_NEEDED = ("title", "author", "year")
_PLACEHOLDERS = ("Title of the publication", "Author, A. and Author, B.")  # of the templates of `bsjax new`
_HEAD = re.compile(r"@\w+\s*\{\s*([^\s,{}]+)\s*,")
_FILLED = re.compile(r"([\w-]+)\s*=[\s{\"]*[^\s{}\",]")


def bibtex_problems(bibtex: str) -> list[str]:
    """List the problems of BibTeX text; [] if there are none.

    Required are one or more closed entries, each with a key, a title, an author or editor, and a year.

    Example:
        >>> bibtex_problems("@article{Doe2026, title={On {V1}}, author={Doe, J.}, year=2026}")
        []
        >>> bibtex_problems("@article{Doe2026, ...}")
        ['Doe2026 has no title, author, year']
    """
    if not bibtex.strip():
        return ["there is none: give bibtex= the publication of the data, as @article{key, title={...}, ...}"]
    _, *parts = _HEAD.split(bibtex)
    if not parts:
        return ["it is not like @article{key, title={...}, author={...}, year={...}}"]
    problems = []
    for key, fields in zip(parts[::2], parts[1::2], strict=True):
        if fields.count("{") >= fields.count("}"):
            return [f"{key} is not closed: a brace is missing"]
        filled = {name.lower() for name in _FILLED.findall(fields)}
        lacking = [name for name in _NEEDED if name not in filled and not (name == "author" and "editor" in filled)]
        problems += [f"{key} has no {', '.join(lacking)}"] if lacking else []
    return problems


def placeholder_note(bibtex: str) -> str:
    """What of the template of ``bsjax new`` is still to be replaced; "" if nothing is.

    Example:
        >>> placeholder_note("@article{Doe2026, title={On V1}, author={Author, A. and Author, B.}, year=2026}")
        'to be filled in: bibtex still has the placeholder "Author, A. and Author, B."'
    """
    left = [f'"{text}"' for text in _PLACEHOLDERS if text in bibtex]
    return f"to be filled in: bibtex still has the placeholder {' and '.join(left)}" if left else ""
