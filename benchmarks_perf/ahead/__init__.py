"""Every metric's program compiled for accelerators that need not be here, and what was counted in it.

``python -m benchmarks_perf.ahead --help`` says how to run it.
"""
