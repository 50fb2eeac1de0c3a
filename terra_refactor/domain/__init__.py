"""Abstract values: dimensions, shapes, dtypes, tensors, values, effects and evidence, with their lattice, and the state made of them.

Imports no room but errors, and depends on neither a Python program nor a library. Everything is frozen, hashable and picklable, except
`State`, which lives while one function is interpreted. Read `value.py` first.
"""
