"""What is known about TensorFlow, Keras, NumPy and Python itself, as declarations.

Gives: `registry.lookup`, the one look-up by qualified name. Behind it: a generated catalogue of public names and
signatures (`catalogue_data/`, written by tools/make_catalogue.py), tables of effects, traits and costs, and rules for
results (`ops/`, `keras/`, `numpy_api/`, `python_api.py`). Neither TensorFlow nor NumPy is ever imported. What is not
declared is unknown; what is declared is compared with TensorFlow by tests/conformance.
"""
