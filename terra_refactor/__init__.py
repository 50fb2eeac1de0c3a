"""terra-refactor: decides which TensorFlow 2 functions may run as graphs.

Holds the version only. Importing a room must not import the others, so nothing is re-exported here.
"""

__version__ = "0.1.0"
