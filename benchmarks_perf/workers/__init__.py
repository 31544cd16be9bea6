"""What measures: one process a contestant, so that none warms, fills or occupies what another needs.

`protocol`, `bsjax_calls`, `brainscore_calls` and `scientific_calls` run in the processes, each in the environment of
what it calls; `client` starts them and asks.
"""
