"""Shapes of results from shapes of operands: pure functions, independent of calls and values, shared by the families of
operations.
"""
