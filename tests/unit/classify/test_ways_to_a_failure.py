"""A failure is an error only if nothing on the way to it ends its exception, ends the program before, or replaces what it rests on."""

from __future__ import annotations

import pytest
from analysis_support import analyze_text
from ways_without_error import NO_ERRORS, START

from terra_refactor.rules.rule import Severity

ERRORS = {
    "a call before that may raise": """
def learn(samples):
    return tf.reduce_sum(samples)


if len(sys.argv) > 2:
    learn(A, B)
tf.matmul(A, B)  # error
""",
    "a call before whose exception is caught": """
def learn(samples):
    return tf.reduce_sum(samples)


try:
    learn(A, B)
except TypeError:
    learn(A)
tf.matmul(A, B)  # error
""",
    "a name before that another function defines": """
def start():
    global size
    size = 3


def main():
    print(size)
    tf.matmul(A, B)  # error


start()
main()
""",
    "a tuple before of that length": """
def sizes():
    return 1, 2, 3


def main():
    rows, *columns = sizes()
    first, second, third = sizes()
    tf.matmul(A, B)  # error


main()
""",
    "a call after it that raises": """
def learn(samples):
    return tf.reduce_sum(samples)


tf.matmul(A, B)  # error
learn(A, B)
""",
    "a call before of one of two functions": """
def one(samples):
    return samples


def two(samples, more):
    return samples


for function in (one, two):
    try:
        function(A, B)
    except TypeError:
        pass
learn = two if len(sys.argv) > 2 else one
learn(*sys.argv[1:])
tf.matmul(A, B)  # error
""",
    "a context manager that ends nothing": """
class Timer:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        print("end")


with Timer():
    tf.matmul(A, B)  # error
""",
    "a generator that ends nothing": """
@contextlib.contextmanager
def timed():
    try:
        yield
    finally:
        print("end")


with timed():
    tf.matmul(A, B)  # error
""",
    "a stack that ends other exceptions": """
with contextlib.ExitStack() as stack:
    stack.enter_context(contextlib.suppress(KeyError))
    tf.matmul(A, B)  # error
""",
    "a `finally` that returns nothing": """
def product():
    try:
        return tf.matmul(A, B)  # error
    finally:
        print("end")


product()
""",
    "another way without the context manager": """
def product():
    return tf.matmul(A, B)  # error


class Tolerant:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


with Tolerant():
    product()
product()
""",
    "an end under a condition": """
if len(sys.argv) > 5:
    sys.exit()
tf.matmul(A, B)  # error
""",
    "an end behind": """
tf.matmul(A, B)  # error
sys.exit()
""",
    "a test with parameters": """
@pytest.mark.parametrize("size", [5])
def test(size):
    tf.matmul(A, B)  # error
""",
    "another function that is replaced": """
tf.add = tf.subtract
tf.matmul(A, B)  # error
""",
    "a singleton": """
class Meta(type):
    made = None

    def __call__(cls, *arguments):
        if Meta.made is None:
            Meta.made = super().__call__(*arguments)
        return Meta.made


class Part(metaclass=Meta):
    def __init__(self):
        self.size = 5


part = Part()
tf.matmul(tf.ones((2, part.size)), B)  # error
""",
    "a list in a deep copy that is too large": """
import copy

settings = {"sizes": [5]}
other = copy.deepcopy(settings)
other["sizes"].append(3)
tf.matmul(tf.ones((2, other["sizes"][0])), B)  # error
""",
    "a class that does not derive from another one": """
class Small:
    pass


class Part:
    pass


size = 3 if isinstance(Part(), Small) else 5
tf.matmul(tf.ones((2, size)), B)  # error
""",
    "one of several that fails for all arguments": """
class Small:
    def run(self, x):
        return tf.matmul(A, B)  # error


class Large:
    def run(self, x):
        return x


def run(parts):
    for part in parts:
        part.run(A)


run({Small(), Large()})
""",
    "functions in an order that is known": """
def use(x):
    return tf.matmul(x, B)  # error


def cut(x):
    return x[:, :4]


x = A
for step in (cut, use):
    x = step(x)
""",
    "an option under which a call fails": """
def use(x):
    return tf.matmul(x, B)  # error


if "--wide" in sys.argv:
    use(A)
""",
    "a function that fails for all arguments, under a condition in a loop": """
def use(x):
    return tf.matmul(A, B)  # error


done = set()
for _ in range(2):
    if "use" in done:
        use(A)
    done.add("use")
""",
    "a flag for debugging": """
class Part:
    def __init__(self, debug):
        self.debug = debug

    @tf.function
    def value(self, x):
        if self.debug:
            print(x.numpy())  # error
        return x


Part(len(sys.argv) > 1).value(A)
""",
    "a handler of other exceptions": """
@tf.function
def value(x):
    return x.numpy()  # error


try:
    value(A)
except KeyError:
    pass
""",
    "a graph that is also called elsewhere": """
@tf.function
def value(x):
    return x.numpy()  # error


class Test(unittest.TestCase):
    def test(self):
        self.assertRaises(AttributeError, value, A)


value(A)
""",
    "an argument of a sum": """
@tf.function
def total(x):
    return sum(x)  # error


total(A)
""",
    "a function of a library that reads": """
import requests


@tf.function
def step(x):
    requests.get("https://example.org")  # error
    return x


for _ in range(3):
    step(A)
""",
    "a constant that is not filled": """
tf.constant([0, 1, 2], shape=[8])  # error
""",
    "a variable that each trace makes": """
@tf.function
def step(x):
    weight = tf.Variable(tf.ones((5,)))  # error
    return x + weight


step(A)
""",
}


def errors_of(text: str) -> list[int]:
    return sorted({finding.span.line for finding in analyze_text(text).findings if finding.severity is Severity.ERROR})


@pytest.mark.parametrize("program", NO_ERRORS.values(), ids=NO_ERRORS)
def test_what_is_not_certain_is_no_error(program: str) -> None:
    assert errors_of(START + program) == []


@pytest.mark.parametrize("program", ERRORS.values(), ids=ERRORS)
def test_what_is_certain_stays_an_error(program: str) -> None:
    text = START + program
    assert errors_of(text) == [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# error")]
