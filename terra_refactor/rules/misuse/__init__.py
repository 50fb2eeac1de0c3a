"""TR6xx: misuse of tf.function."""
