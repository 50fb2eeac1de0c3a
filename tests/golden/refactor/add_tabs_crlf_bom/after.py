import tensorflow as tf

class A:
	@tf.function
	def f(self, x):
		return x	# tab

	@property
	@tf.function
	def g(self):
		return 1