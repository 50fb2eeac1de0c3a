import tensorflow as tf


class Outer:
    """Doc."""

    class Inner:

        # speaks of the method
        @tf.function
        def method(self, x):
            @tf.function
            def helper(y):
                return y
            return helper(x)

if tf.executing_eagerly():
    @tf.function
    def chosen(x):
        return x
else:
    @tf.function
    def chosen(x):
        return -x
