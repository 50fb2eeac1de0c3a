"""Verification by running the original and the refactored program, each in a process of its own.

Computes: for each function to change, whether both versions behave the same. Needs: the refactored files, and an
interpreter with TensorFlow. Gives: `session.verify_changes`. Ignores: how results are shown.
"""
