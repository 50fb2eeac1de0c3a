# Copyright us.

# speaks of f
def f(x):
    return x
