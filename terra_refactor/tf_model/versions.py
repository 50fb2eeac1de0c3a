"""The modelled versions of libraries.

Computes: nothing. Gives: the catalogue files and their order. Ignores: packages installed on the machine.
"""

from __future__ import annotations

from typing import Final

CATALOGUE_FILES: Final = (
    "tf_keras-2",
    "numpy-1",
    "tensorflow-2.16",
    "tensorflow-2.21",
    "keras-3",
    "numpy-2",
    "tensorflow_probability-0.25",
    "python-3",
)
"""In `catalogue_data/`, oldest first: if two files contain a name, the later one describes it, and the earlier one only
records that it existed.
"""
