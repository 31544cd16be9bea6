"""Validation of BibTeX entries."""

import re

_NEEDED = ("title", "author", "year")
_PLACEHOLDERS = ("Title of the publication", "Author, A. and Author, B.")  # of the templates of `bsjax new`
_HEAD = re.compile(r"@(\w+)\s*\{\s*([^\s,{}]+)\s*,")
_FIELD = re.compile(r"\s*,?\s*([\w-]+)\s*=\s*")


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
    entries, position = [], 0
    while head := _HEAD.search(bibtex, position):
        fields, end = _fields(bibtex, head.end())
        if end is None:
            return [f"{head[2]} is not closed: a brace or quotation mark is missing"]
        entries.append((head[2], fields))
        position = end
    if not entries:
        return ["it is not like @article{key, title={...}, author={...}, year={...}}"]
    problems = []
    for key, fields in entries:
        filled = {name for name, value in fields.items() if value.strip()}
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


def _fields(text: str, position: int) -> tuple[dict[str, str], int | None]:
    """Parse the fields from a position; gives them and the end of the entry, None if its closing brace is missing."""
    fields: dict[str, str] = {}
    while position < len(text):
        field = _FIELD.match(text, position)
        if field is None:
            close = text.find("}", position)
            return fields, None if close < 0 else close + 1
        end = _value_end(text, field.end())
        if end is None:
            return fields, None
        fields[field[1].lower()] = text[field.end() : end].strip().strip('{}"')
        position = end
    return fields, None


def _value_end(text: str, start: int) -> int | None:
    """The end of a value: the first comma or closing brace outside of its own braces and quotation marks."""
    depth, quoted = 0, False
    for position in range(start, len(text)):
        character = text[position]
        if character == '"' and depth == 0:
            quoted = not quoted
        elif character == "{":
            depth += 1
        elif character == "}" and depth:
            depth -= 1
        elif depth == 0 and not quoted and character in ",}":
            return position
    return None
