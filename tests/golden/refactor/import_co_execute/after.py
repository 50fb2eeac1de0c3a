import tensorflow as tf
from terra_refactor.runtime import co_execute


@co_execute
def f(x):
    print(x)
    return x


@co_execute
def g(x):
    print(x)


@register
@co_execute
def h(x):
    print(x)
