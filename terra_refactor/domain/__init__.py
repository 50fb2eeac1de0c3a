"""Abstract values: dimensions, shapes, dtypes, tensors, values, effects and evidence, with their lattice, and the state made of them.

Imports only `errors`; knows nothing of Python programs or libraries. Everything is frozen, hashable and picklable,
except `State`, which lives while one function is interpreted. Read `value.py` first.
"""
