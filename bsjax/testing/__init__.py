"""Checks for your own metrics, mappings, ceilings, benchmarks and models, and hypothesis strategies for test data.

The checks need no additional package. ``bsjax[testing]`` installs hypothesis, for the strategies, and pytest.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.testing.cards import Card as Card
    from bsjax.testing.cards import card as card
    from bsjax.testing.ceilings import check_ceiling as check_ceiling
    from bsjax.testing.contract import Check as Check
    from bsjax.testing.contract import ContractError as ContractError
    from bsjax.testing.data import assembly as assembly
    from bsjax.testing.everything import checks_of as checks_of
    from bsjax.testing.experiments import check_benchmark as check_benchmark
    from bsjax.testing.experiments import check_model as check_model
    from bsjax.testing.mappings import check_mapping as check_mapping
    from bsjax.testing.metrics import check_metric as check_metric
    from bsjax.testing.metrics import checks as checks
    from bsjax.testing.strategies import assemblies as assemblies
    from bsjax.testing.strategies import choices as choices
    from bsjax.testing.strategies import rdms as rdms
    from bsjax.testing.strategies import responses as responses
    from bsjax.testing.strategies import splits as splits

__getattr__, __dir__, __all__ = on_first_use(globals())
