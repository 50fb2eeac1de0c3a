import tensorflow as tf


@tf.function
def f(x): return x
class A:
  @tf.function
  def g(self, x): return x
  @tf.function
  def h(self): return lambda x: x
