"""InvalidArgumentError: ... Detected unsupported operations when trying to compile graph ... on XLA_CPU_JIT

XLA compiles the whole function or nothing; it has no strings, no printing and no Python.
"""
import tensorflow as tf


@tf.function(jit_compile=True)
def step(x):
    tf.print(x)  # TR701
    return x * 2.0


step(tf.ones([3]))
