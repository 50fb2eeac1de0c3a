"""Trains bnnsurv's MLP on random data and prints the risk of four patients relative to a fifth."""

import sys
import time

import numpy as np

sys.path.insert(0, "src")
from bnnsurv import models

rng = np.random.default_rng(0)
patients = rng.normal(size=(640, 8)).astype("float32")
time_to_event = rng.exponential(np.exp(patients[:, 0]))
event = rng.random(640) < 0.7

model = models.MLP(layers=[32, 32], num_epochs=20)
start = time.process_time()
model.fit(patients, time_to_event, event)
print(f"{time.process_time() - start:.1f} s of processor time", file=sys.stderr)
risk = model.predict_risk(patients[:5])
print(np.round(risk[1:] - risk[0], 2))
