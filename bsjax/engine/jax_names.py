"""Names of JAX outside its stable interface, all in one place."""

import jax

try:
    from jax.core import ShapedArray as ShapedArray
    from jax.experimental import checkify as checkify
    from jax.extend.core import Primitive as Primitive
    from jax.extend.core import get_opaque_trace_state as get_opaque_trace_state
    from jax.extend.core import jaxprs_in_params as jaxprs_in_params
    from jax.interpreters import batching as batching
    from jax.interpreters import mlir as mlir
except ImportError as error:
    raise ImportError(
        f"bsjax does not know JAX {jax.__version__} ({error}): pip install 'jax>=0.10,<0.13', or a newer bsjax"
    ) from error
