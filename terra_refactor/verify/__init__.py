"""Proof by running: the original and the refactored program, side by side in processes of their own.

Computes: for each function that is to change, whether both versions give the same. Needs: the refactored files, and an
interpreter with TensorFlow. Gives: `session.verify_changes`. Ignores: how results are shown.
"""
