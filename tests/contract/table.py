"""All rows: a module of ``rows`` holds those of one family."""

import importlib
import pkgutil

from tests.contract import rows
from tests.contract.row import Row

TABLE: dict[str, Row] = {
    row.name: row
    for module in pkgutil.iter_modules(rows.__path__)
    for row in importlib.import_module(f"{rows.__name__}.{module.name}").ROWS
}
