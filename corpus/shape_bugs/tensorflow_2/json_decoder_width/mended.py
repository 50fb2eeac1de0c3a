"""An autoencoder whose widths stand in a JSON file that an earlier step has written."""
import json
import os
import tempfile
from types import SimpleNamespace

import tensorflow as tf


def read_settings(path):
    with open(path) as file:
        return SimpleNamespace(**json.load(file))


class Autoencoder:
    def __init__(self, settings):
        init = tf.random_normal_initializer(stddev=0.1, seed=1)
        self.mean = tf.Variable(init([settings.features, settings.code]))
        self.scale = tf.Variable(init([settings.features, settings.code]))
        self.decoder = tf.Variable(init([settings.code, settings.features]))

    def reconstruct(self, rows):
        code = rows @ self.mean + tf.exp(rows @ self.scale)
        return tf.matmul(code, self.decoder)


path = os.path.join(tempfile.mkdtemp(), "settings.json")
with open(path, "w") as written:
    json.dump({"features": 9, "code": 4}, written)
settings = read_settings(path)
print(Autoencoder(settings).reconstruct(tf.ones([3, settings.features])).shape)
