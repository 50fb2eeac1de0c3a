"""Code that runs in the processes that execute user code: the only part of the room that needs NumPy and TensorFlow.

These modules import the standard library, NumPy, TensorFlow and each other, nothing else of this project: the interpreter
that runs them is the user's.
"""
