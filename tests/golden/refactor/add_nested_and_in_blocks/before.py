import tensorflow as tf


class Outer:
    """Doc."""

    class Inner:

        # speaks of the method
        def method(self, x):
            def helper(y):
                return y
            return helper(x)

if tf.executing_eagerly():
    def chosen(x):
        return x
else:
    def chosen(x):
        return -x
