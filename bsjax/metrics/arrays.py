"""Shapes of arrays that many kernels take or return.

The axes are ``n`` stimuli, ``p`` features, ``q`` targets, ``u`` units, ``r`` repetitions and ``h`` held-out stimuli.
"""

from jaxtyping import Array, Bool, Float, Int, Real

Scalar = Float[Array, ""]
Flag = Bool[Array, ""]
Values = Float[Array, "*shape"]
"""Any shape, of elements that are treated alike."""
Features = Float[Array, "n p"]
Targets = Float[Array, "n q"]
PerStimulus = Float[Array, " n"]
Mask = Bool[Array, " n"]
"""Of the stimuli that count."""
HeldOut = Int[Array, "folds h"]
"""The held-out stimuli of every fold, padded to one length."""
HeldOutMask = Bool[Array, "folds h"]
HeldOutTargets = Float[Array, "folds h q"]
"""Predictions for them."""
Embedded = Float[Array, "folds m d"]
"""Stimuli of every fold in the coordinates of a mapping's weights."""
Predicted = Float[Array, "folds m q"]
"""Predictions for them."""
Trials = Float[Array, "r n u"]
Present = Bool[Array, "r n u"]
"""The trials that were recorded."""
Splits = Bool[Array, "splits r n"]
"""The repetitions of each stimulus in the first half."""
Counts = Real[Array, "draws n"]
"""How often each draw contains each stimulus."""
Permutations = Int[Array, "draws n"]
PerDraw = Float[Array, " draws"]
Value = Float[Array, "*rest"]
Draws = Float[Array, "draws ..."]
"""A ``Value`` in every draw."""
