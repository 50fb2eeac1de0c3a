"""Settings from a JSON file and the command line."""

import argparse
import json
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Config:
    window: int = 12
    units: int = 16
    learning_rate: float = 0.01
    steps: int = 100
    batch: int = 32
    clip: float = 1.0


def load_config(argv=None):
    parser = argparse.ArgumentParser(prog="salescast")
    parser.add_argument("--config")
    parser.add_argument("--steps", type=int)
    options = parser.parse_args(argv)
    config = Config()
    if options.config:
        with open(options.config) as stream:
            config = Config(**json.load(stream))
    if options.steps is not None:
        config = replace(config, steps=options.steps)
    return config
