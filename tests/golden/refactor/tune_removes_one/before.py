import tensorflow as tf

@tf.function(a=1, reduce_retracing=True)
def first(x): return x


@tf.function(reduce_retracing=True, a=1)
def last(x): return x


@tf.function(reduce_retracing=True, a=1, )
def last_with_comma(x): return x


@tf.function(reduce_retracing=True,  # stays
             a=1)
def aligned(x): return x


@tf.function(a=(1 +
                2), reduce_retracing=True)
def long(x): return x
