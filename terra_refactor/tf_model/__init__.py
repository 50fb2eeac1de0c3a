"""Models of TensorFlow, Keras, NumPy and Python itself, as declarations.

Gives: `registry.lookup`, the single lookup by qualified name. Behind it: a generated catalogue of public names and
signatures (`catalogue_data/`, written by tools/make_catalogue.py), tables of effects, traits and costs, and rules for
results (`ops/`, `keras/`, `numpy_api/`, `python_api.py`). Neither TensorFlow nor NumPy is ever imported. Undeclared
names are unknown; tests/conformance compares the declarations with TensorFlow.
"""
