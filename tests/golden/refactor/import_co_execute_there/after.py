from terra_refactor.runtime import co_execute as co


@co
def f(x):
    return x


@co
def g(x):
    return x
