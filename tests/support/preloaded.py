"""What the process has imported that others are forked from (see ``forked.py``); none of it may start a device."""

import os
import warnings

import jax

import tests.support.cache_users
import tests.support.score_writers  # noqa: F401

# Its threads are those of a device, and there is none yet.
warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
# All of them take what another of the session has compiled.
jax.config.update("jax_compilation_cache_dir", os.path.join(os.environ["BSJAX_HOME"], "compiled"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
