"""Shapes of results from shapes of operands: pure functions that know no call and no value, shared by the families of operations."""
