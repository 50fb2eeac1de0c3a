import tensorflow as tf
from mine import co_execute
from terra_refactor.runtime import co_execute as co_execute_2


@co_execute_2
def f(x):
    return x
