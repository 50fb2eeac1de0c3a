import tensorflow as tf

@tf.function(reduce_retracing=True)
def first(x): return x


@tf.function(reduce_retracing=True)
def last(x): return x


@tf.function(reduce_retracing=True, )
def last_with_comma(x): return x


@tf.function(reduce_retracing=True,  # stays
             )
def aligned(x): return x


@tf.function(reduce_retracing=True)
def long(x): return x
