"""Abstract values: dimensions, shapes, dtypes, tensors, values, effects and evidence. Knows no program and no library."""
