"""Speed and numerical error of bsjax beside other implementations, on the same arrays in the same run.

``python -m benchmarks_perf --help`` says how to run it; ``README.md`` beside this file says what is measured.
"""
