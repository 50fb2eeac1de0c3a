import functools
import random


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        print(function.__name__)
        return function(*args, **kwargs)

    return wrapper


@logged
def choose(options, default=None):
    if not options:
        return default
    return options[random.randrange(len(options))]


def walk(tree, depth=0):
    if isinstance(tree, tuple):
        for branch in tree:
            yield from walk(branch, depth + 1)
    else:
        yield tree, depth


def resource(path):
    handle = open(path)
    try:
        return handle.read()
    finally:
        handle.close()


x = choose([1, 2, "three"])
y = choose([])
leaves = list(walk((1, (2, (3,)))))
