"""Functions that create an instance of a library class.

Computes: nothing. Gives: `FACTORIES`, from the function's canonical name to that of the result's class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FACTORIES: Final[Mapping[str, str]] = {
    "multiprocessing.Pool": "multiprocessing.pool.Pool",
    "numpy.random.default_rng": "numpy.random.Generator",
    "tensorflow.random.Generator.from_seed": "tensorflow.random.Generator",
    "tensorflow.random.Generator.from_non_deterministic_state": "tensorflow.random.Generator",
    "tensorflow.random.Generator.from_key_counter": "tensorflow.random.Generator",
    "tensorflow.random.Generator.from_state": "tensorflow.random.Generator",
    "tensorflow.distribute.get_strategy": "tensorflow.distribute.Strategy",
    "tensorflow.distribute.get_replica_context": "tensorflow.distribute.ReplicaContext",
    "tensorflow.random.get_global_generator": "tensorflow.random.Generator",
}
"""By canonical name."""
