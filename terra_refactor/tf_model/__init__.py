"""What is known about TensorFlow, Keras, NumPy and Python itself, as declarations."""
