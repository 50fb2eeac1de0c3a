from terra_refactor.runtime import co_execute as co


@co
def f(x):
    return x


def g(x):
    return x
