"""Abstract values: dimensions, shapes, dtypes, tensors, values, effects and evidence, with their lattice, and the
state made of them.

Imports no room but errors, and knows neither a Python program nor a library. Everything is frozen, hashable and
picklable, apart from `State`, which lives as long as one function is interpreted. Read `value.py` first.
"""
