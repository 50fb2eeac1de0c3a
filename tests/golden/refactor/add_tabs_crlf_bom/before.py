import tensorflow as tf

class A:
	def f(self, x):
		return x	# tab

	@property
	def g(self):
		return 1