"""What the process has imported that others are forked from (see ``forked.py``); none of it may start a device."""

import importlib
import warnings

import jax

for _name in ("activations", "benchmarks", "cli", "data", "labelled", "models", "results", "scoring"):
    importlib.import_module(f"bsjax.{_name}")
for _name in ("cache_users", "queue_users", "score_writers"):
    importlib.import_module(f"tests.support.{_name}")

# Its threads are those of a device, and there is none yet.
warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
