"""Checks of metrics, mappings, ceilings, benchmarks and models of one's own, and hypothesis strategies for their data.

The extra ``bsjax[testing]`` brings hypothesis and pytest; the checks need neither.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.testing.contract import Check as Check
    from bsjax.testing.contract import ContractError as ContractError
    from bsjax.testing.data import assembly as assembly
    from bsjax.testing.metrics import check_metric as check_metric
    from bsjax.testing.metrics import checks as checks

__getattr__, __dir__, __all__ = on_first_use(globals())
