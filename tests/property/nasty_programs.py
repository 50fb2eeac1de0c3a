# ruff: noqa: E501 - texts of programs
"""Programs designed to break an analysis: each grows in one way that some step may not scale with.

Gives: `NASTY`, by name a function that writes the program at a size. A run must handle the sizes in `FULL`; tests use smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_HEAD: Final = "import tensorflow as tf\nimport numpy as np\n\n\n"

Files = dict[str, str]
NASTY: Final[dict[str, Callable[[int], Files]]] = {}
FULL: Final[dict[str, int]] = {}
"""The full size of each."""


def _nasty(size: int) -> Callable[[Callable[[int], str | Files]], Callable[[int], Files]]:
    def declared(write: Callable[[int], str | Files]) -> Callable[[int], Files]:
        def files(n: int) -> Files:
            written = write(n)
            return written if isinstance(written, dict) else {"nasty.py": _HEAD + written}

        name = write.__name__.strip("_")
        NASTY[name] = files
        FULL[name] = size
        return files

    return declared


# --- joins ---------------------------------------------------------------------------------------------------------------------------


@_nasty(60)
def _class_lattice(n: int) -> str:
    """Each class has the previous two as bases."""
    classes = [
        f"class C{i}(C{i - 1}, C{i - 2}):\n    def m{i}(self, x):\n        return self.m{i - 1}(x) + 1\n"
        for i in range(2, n)
    ]
    start = "class C0(tf.keras.layers.Layer):\n    def m0(self, x):\n        return x\n\nclass C1(C0):\n    def m1(self, x):\n        return self.m0(x)\n"
    return start + "\n".join(classes) + f"\nprint(C{n - 1}().m{n - 1}(tf.ones([2])))\n"


@_nasty(60)
def _call_tree(n: int) -> str:
    """3 ** n calls, nested in expressions."""
    functions = [f"def f{i}(x):\n    return f{i + 1}(f{i + 1}(f{i + 1}(x)))\n" for i in range(n)]
    return "\n".join(functions) + f"\ndef f{n}(x):\n    return x + 1\n\nprint(f0(tf.ones([2])))\n"


@_nasty(60)
def _call_tree_of_constants(n: int) -> str:
    """The same, but each call has another Python number."""
    functions = [f"def f{i}(x, k):\n    return f{i + 1}(x, k * 2) + f{i + 1}(x, k * 2 + 1)\n" for i in range(n)]
    return "\n".join(functions) + f"\ndef f{n}(x, k):\n    return x + k\n\nprint(f0(tf.ones([2]), 1))\n"


@_nasty(40)
def _state_tree(n: int) -> str:
    """Each call changes the state, so that no summary matches the next one."""
    functions = [f"def f{i}(x):\n    s.n = s.n + 1\n    return f{i + 1}(x) + f{i + 1}(x)\n" for i in range(n)]
    return (
        "class S:\n    n = 0\n\ns = S()\n\n"
        + "\n".join(functions)
        + f"\ndef f{n}(x):\n    s.n += 1\n    return x * s.n\n\nprint(f0(tf.ones([2])))\n"
    )


@_nasty(300)
def _doubling_tuples(n: int) -> str:
    """A value whose tree doubles with each line."""
    return "def f(x):\n" + "".join("    x = (x, x)\n" for _ in range(n)) + "    return x\n\nprint(f(tf.ones([2])))\n"


@_nasty(200)
def _doubling_different(n: int) -> str:
    """The same, with halves that differ."""
    return (
        "def f(x, y):\n"
        + "".join("    x, y = (x, y), (y, x)\n" for _ in range(n))
        + "    return x\n\nprint(f(tf.ones([2]), tf.ones([3])))\n"
    )


@_nasty(200)
def _doubling_dicts(n: int) -> str:
    return (
        "def f(x):\n"
        + "".join(f"    x = {{'a': x, 'b': {{'c': x, {i}: [x]}}}}\n" for i in range(n))
        + "    return x\n\nprint(f(tf.ones([2])))\n"
    )


@_nasty(400)
def _branches_of_constants(n: int) -> str:
    """2 ** n paths, each with another number."""
    lines = "".join(f"    if x[{i}] > 0:\n        k = k + {1 << min(i, 60)}\n        s = s + '{i}'\n" for i in range(n))
    return f"def f(x):\n    k = 0\n    s = ''\n{lines}    return x * k\n\nprint(f(tf.ones([2])))\n"


@_nasty(60)
def _branches_of_shapes(n: int) -> str:
    lines = "".join(f"    if flags[{i}]:\n        x = tf.concat([x, x], 0)\n        y = (x, y)\n" for i in range(n))
    return f"def f(x, flags):\n    y = x\n{lines}    return x, y\n\nprint(f(tf.ones([2]), input()))\n"


@_nasty(10_000)
def _elif(n: int) -> str:
    lines = "".join(f"    elif k == {i}:\n        y = x + {i}\n" for i in range(n))
    return f"def f(x, k):\n    if k is None:\n        y = x\n{lines}    return y\n\nprint(f(tf.ones([2]), 3))\n"


@_nasty(2_500)
def _elif_of_shapes(n: int) -> str:
    lines = "".join(f"    elif k == {i}:\n        y = tf.ones([{i}])\n        z = [{i}]\n" for i in range(n))
    return f"def f(x, k):\n    if k is None:\n        y = x\n        z = []\n{lines}    return y, z\n\nprint(f(tf.ones([2]), input()))\n"


@_nasty(500)
def _union_of_types(n: int) -> str:
    names = [f"C{i}" for i in range(n)]
    classes = "".join(f"class {name}:\n    def run(self, x):\n        return x + {i}\n" for i, name in enumerate(names))
    union = ", ".join(names)
    return f"from typing import Union\n{classes}\ndef f(c: Union[{union}], x: tf.Tensor):\n    c.run(x)\n    return c.run(c.run(x))\n"


@_nasty(500)
def _new_style_union(n: int) -> str:
    names = [f"C{i}" for i in range(n)]
    classes = "".join(
        f"class {name}:\n    def __init__(self): self.v = tf.Variable({i}.)\n    def run(self, x): return x + self.v\n"
        for i, name in enumerate(names)
    )
    return f"{classes}\ndef f(c: {' | '.join(names)}, x: tf.Tensor):\n    for _ in range(3):\n        x = c.run(x)\n    return x\n"


@_nasty(1_000)
def _registry_of_functions(n: int) -> str:
    functions = "".join(f"def f{i}(x):\n    return x + {i}\n" for i in range(n))
    table = ", ".join(f"'{i}': f{i}" for i in range(n))
    return f"{functions}\nTABLE = {{{table}}}\n\ndef g(name, x):\n    return TABLE[name](TABLE[name](x))\n\nprint(g(input(), tf.ones([2])))\n"


# --- nesting -------------------------------------------------------------------------------------------------------------------------


@_nasty(95)
def _nested_ifs(n: int) -> str:
    lines = "".join(
        "    " + " " * i + f"if x[{i}] > 0:\n" + "    " + " " * (i + 1) + f"y = y + {i}\n" for i in range(n)
    )
    return f"def f(x):\n    y = x\n{lines}    return y\n\nprint(f(tf.ones([200])))\n"


@_nasty(18)
def _nested_loops(n: int) -> str:
    lines = "".join("    " + " " * i + f"for i{i} in range(x.shape[0]):\n" for i in range(n))
    return f"def f(x):\n    y = x\n    z = [y]\n{lines}    {' ' * n}y, z = y + i{n - 1}, [z]\n    return y\n\nprint(f(tf.ones([20])))\n"


@_nasty(18)
def _nested_whiles(n: int) -> str:
    lines = "".join(
        "    " + " " * i + f"while k{i} < n:\n     " + " " * i + f"k{i} += 1; k{(i + 1) % n} = k{i}; x = (x, k{i})\n"
        for i in range(n)
    )
    starts = "; ".join(f"k{i} = 0" for i in range(n))
    return f"def f(x, n):\n    {starts}\n{lines}    {' ' * n}x = x[0]\n    return x\n\nprint(f(tf.ones([20]), int(input())))\n"


@_nasty(18)
def _nested_tries(n: int) -> str:
    lines = "".join("    " + " " * i + "try:\n     " + " " * i + f"x = g(x, {i})\n" for i in range(n))
    ends = "".join(
        "    "
        + " " * i
        + f"except ValueError:\n     {' ' * i}x = x + {i}\n    {' ' * i}finally:\n     {' ' * i}x = x * {i}\n"
        for i in reversed(range(n))
    )
    return f"def g(x, k):\n    if k in x: raise ValueError(k)\n    return x\n\ndef f(x):\n{lines}{ends}    return x\n\nprint(f(tf.ones([20])))\n"


@_nasty(14)
def _nested_finallys(n: int) -> str:
    """A final block is run for each path that reaches it; nested, for each combination of paths."""
    lines = "".join("    " + " " * i + "try:\n     " + " " * i + f"if x[{i}] > 0: return x\n" for i in range(n))
    ends = "".join(
        f"    {' ' * i}finally:\n     {' ' * i}try:\n      {' ' * i}x = x * {i}\n      {' ' * i}if x[{i}] > 9: raise ValueError\n     {' ' * i}finally:\n      {' ' * i}x = x + 1\n"
        for i in reversed(range(n))
    )
    return f"def f(x):\n{lines}{ends}    return x\n\nprint(f(tf.ones([20])))\n"


@_nasty(90)
def _nested_functions(n: int) -> str:
    lines = "".join(" " * i + f"def f{i}(x{i}):\n" for i in range(n))
    back = "".join(" " * i + f"return f{i}(x{i - 1})\n" for i in reversed(range(1, n)))
    return f"{lines}{' ' * n}return {' + '.join(f'x{i}' for i in range(n))}\n{back}\nprint(f0(tf.ones([2])))\n"


@_nasty(90)
def _nested_classes(n: int) -> str:
    lines = "".join(" " * i + f"class C{i}(tf.keras.layers.Layer):\n" for i in range(n))
    return (
        f"{lines}{' ' * n}def call(self, x): return x\n\nprint({'.'.join(f'C{i}' for i in range(n))}()(tf.ones([2])))\n"
    )


@_nasty(190)
def _nested_lambdas(n: int) -> str:
    return (
        "f = "
        + "".join(f"lambda x{i}: (" for i in range(n))
        + f"x0 + x{n - 1}"
        + ")" * n
        + "\nprint(f"
        + "(tf.ones([2]))" * n
        + ")\n"
    )


@_nasty(60)
def _nested_comprehensions(n: int) -> str:
    return (
        "def f(x):\n    return "
        + "[" * n
        + "x"
        + "".join(f" for i{i} in range(2)]" for i in range(n))
        + "\n\nprint(f(tf.ones([2])))\n"
    )


@_nasty(100)
def _comprehension_of_many(n: int) -> str:
    loops = " ".join(f"for i{i} in range(3) if i{i} % 2" for i in range(n))
    return f"def f(x):\n    return tf.stack([x * i0 {loops}])\n\nprint(f(tf.ones([2])))\n"


@_nasty(190)
def _nested_calls(n: int) -> str:
    return "def f(x):\n    return " + "tf.abs(" * n + "x" + ")" * n + "\n\nprint(f(tf.ones([2])))\n"


@_nasty(90)
def _nested_conditional_expressions(n: int) -> str:
    return (
        "def f(x):\n    return "
        + "".join(f"(x + {i} if x[{i}] > 0 else " for i in range(n))
        + "x"
        + ")" * n
        + "\n\nprint(f(tf.ones([200])))\n"
    )


@_nasty(90)
def _nested_withs(n: int) -> str:
    lines = "".join(" " * (i + 1) + f"with tf.GradientTape() as t{i}:\n" for i in range(n))
    back = "".join(" " * (i + 1) + f"x = t{i}.gradient(y, v)\n" for i in reversed(range(n)))
    return (
        f"v = tf.Variable(1.)\n\ndef f(x):\n{lines}{' ' * (n + 1)}y = v * x\n{back} return x\n\nprint(f(tf.ones([])))\n"
    )


@_nasty(60)
def _nested_fstrings(n: int) -> str:
    return (
        "def f(x):\n    return "
        + "f'{" * 1
        + "x"
        + ":{x}" * 1
        + "}'"
        + "".join(f" + f'{{x!r:>{{len(f\"{{x}}\")}}}} {i}'" for i in range(n))
        + "\n\nprint(f(tf.ones([2])))\n"
    )


# --- length --------------------------------------------------------------------------------------------------------------------------


@_nasty(100_000)
def _many_lines(n: int) -> str:
    return "x = tf.ones([2])\n" + "".join(f"x{i} = x + {i}\n" for i in range(n))


@_nasty(20_000)
def _long_function(n: int) -> str:
    return (
        "def f(x):\n"
        + "".join("    x = tf.nn.relu(x) + 1\n" for _ in range(n))
        + "    return x\n\nprint(f(tf.ones([2])))\n"
    )


@_nasty(5_000)
def _long_function_of_names(n: int) -> str:
    lines = "".join(f"    x{i + 1} = x{i} + x{max(0, i - 1)} * x{i // 2}\n" for i in range(n))
    return f"@tf.function\ndef f(x0):\n{lines}    return x{n}\n\nprint(f(tf.ones([2])))\n"


@_nasty(8_000)
def _many_functions(n: int) -> str:
    return (
        "".join(f"def f{i}(x):\n    return tf.nn.relu(f{i + 1}(x)) if x is not None else None\n" for i in range(n))
        + f"def f{n}(x): return x\n\nprint(f0(tf.ones([2])))\n"
    )


@_nasty(3_000)
def _many_methods(n: int) -> str:
    lines = "".join(
        f"    def m{i}(self, x):\n        self.a{i} = x\n        return self.m{(i * 7 + 3) % n}(self.a{(i * 3) % n})\n"
        for i in range(n)
    )
    return f"class C(tf.keras.Model):\n{lines}\nprint(C().m0(tf.ones([2])))\n"


@_nasty(2_500)
def _long_attributes(n: int) -> str:
    return "def f(x):\n    return x" + ".a" * n + "\n\nprint(f(tf.ones([2])))\n"


@_nasty(2_500)
def _long_call_chain(n: int) -> str:
    return "def f(x):\n    return x" + ".map(lambda v: v + 1)" * n + "\n\nprint(f(tf.data.Dataset.range(3)))\n"


@_nasty(2_500)
def _long_sum(n: int) -> str:
    return "def f(x):\n    return " + " + ".join(f"x * {i}" for i in range(n)) + "\n\nprint(f(tf.ones([2])))\n"


@_nasty(2_500)
def _long_comparison(n: int) -> str:
    return (
        "def f(x, y):\n    if "
        + " and ".join(f"x[{i}] < y < {i}" for i in range(n // 2))
        + ":\n        return x\n    return y\n\nprint(f(tf.ones([9999]), 1))\n"
    )


@_nasty(100_000)
def _huge_list(n: int) -> str:
    return f"DATA = [{', '.join(str(i) for i in range(n))}]\n\ndef f(x):\n    return x + tf.constant(DATA)\n\nprint(f(tf.ones([{n}])))\n"


@_nasty(20_000)
def _huge_dict(n: int) -> str:
    table = ",\n".join(f"    'k{i}': {{'a': [{i}, {i + 1}], 'b': tf.ones([{i % 50}])}}" for i in range(n))
    return f"DATA = {{\n{table}\n}}\n\ndef f(x, k):\n    return x + DATA[k]['b']\n\nfor k in DATA:\n    print(f(tf.ones([2]), k))\n"


@_nasty(100_000)
def _dict_item_by_item(n: int) -> str:
    return (
        "DATA = {}\n"
        + "".join(f"DATA['{i}'] = {i}\n" for i in range(n))
        + "\ndef f(x):\n    return x + DATA['7']\n\nprint(f(tf.ones([2])))\n"
    )


@_nasty(5_000_000)
def _huge_string(n: int) -> str:
    return f"TEXT = '{'x' * n}'\n\ndef f(x):\n    return x + len(TEXT)\n\nprint(f(tf.ones([2])))\n"


@_nasty(3_900_000)
def _string_below_the_limit(n: int) -> str:
    return (
        f"TEXT = '{'x' * n}'\n\ndef f(x):\n    return x + len(TEXT + TEXT) + len(TEXT * 3)\n\nprint(f(tf.ones([2])))\n"
    )


@_nasty(100_000)
def _huge_number(n: int) -> str:
    return f"N = {'9' * n}\nM = N * N\n\ndef f(x):\n    return x + N % 7 + M\n\nprint(f(tf.ones([2])))\n"


@_nasty(10_000)
def _arithmetic_bombs(n: int) -> str:
    lines = "".join(
        f"a{i} = {9 + i % 7} ** {9**9} % {i + 1}\nb{i} = 'ab' * {10**9}\nc{i} = 1 << {10**12}\nd{i} = [0] * {10**10}\n"
        for i in range(n // 100)
    )
    return (
        lines
        + f"e = 2 ** 2 ** 2 ** 2 ** 2 ** 2\nr = range({10**18})\nl = list(r)\nt = tuple(range({10**9}))\ns = f'{{1:{10**9}}}'\nu = '%{10**9}d' % 1\nv = 'a'.ljust({10**10})\nw = 'x'.zfill({10**10})\nz = sum(range({10**12}))\nprint(tf.ones([{10**9}]) + e, tf.reshape(tf.range({10**15}), [{10**7}, -1]), np.arange({10**12}))\nq = sorted(range({10**12}))\np = bytes({10**11})\no = int('9' * {10**9})\nm = [x for x in range({10**12})]\n"
    )


@_nasty(10_000)
def _parametrised_calls(n: int) -> str:
    calls = "".join(f"print(f(tf.ones([{i}]), {i}, 'name{i}'))\n" for i in range(n))
    return f"def g(x, k):\n    return x * k\n\ndef f(x, k, name):\n    with tf.name_scope(name):\n        return g(tf.nn.relu(x), k)\n\n{calls}"


@_nasty(3_000)
def _parametrised_test(n: int) -> str:
    cases = ", ".join(f"({i}, [{i}, 2], 'float{i}')" for i in range(n))
    return f"import pytest\n\n@pytest.mark.parametrize('k, shape, name', [{cases}])\ndef test_f(k, shape, name):\n    x = tf.ones(shape)\n    assert f(x, k) is not None\n\ndef f(x, k):\n    return x + k\n"


@_nasty(5_000_000)
def _generated_file(n: int) -> str:
    parts = []
    size = 0
    i = 0
    while size < n:
        part = f"def _pb_{i}(x, name=None):\n    if name is None:\n        name = 'op_{i}'\n    with tf.name_scope(name):\n        return tf.raw_ops.AddV2(x=x, y=tf.constant({i}.0))\n\n"
        parts.append(part)
        size += len(part)
        i += 1
    return "".join(parts)


@_nasty(3_500_000)
def _generated_file_below_the_limit(n: int) -> str:
    return _generated_file(n)["nasty.py"].removeprefix(_HEAD)


@_nasty(3_000)
def _decorators(n: int) -> str:
    return (
        f"def d(f):\n    def w(x):\n        return f(x) + 1\n    return w\n\n{'@d' + chr(10)}"
        + "@d\n" * (n - 1)
        + "def f(x):\n    return x\n\nprint(f(tf.ones([2])))\n"
    )


@_nasty(250)
def _many_arguments(n: int) -> str:
    names = ", ".join(f"a{i}=None" for i in range(n))
    uses = "".join(f"    if a{i} is not None:\n        x = x + a{i}\n" for i in range(n))
    calls = "".join(
        f"print(f(tf.ones([2]), a{i}={i}, a{(i * 7 + 1) % n if (i * 7 + 1) % n != i else (i + 1) % n}=tf.ones([2])))\n"
        for i in range(n)
    )
    return f"def f(x, {names}):\n{uses}    return x\n\n{calls}"


@_nasty(3_000)
def _many_globals_rebound(n: int) -> str:
    lines = "".join(
        f"def set{i}(v):\n    global state, g{i}\n    state = (state, v)\n    g{i} = state\n    return set{(i + 1) % n}(g{i})\n"
        for i in range(n)
    )
    return f"state = tf.ones([2])\n{lines}\nprint(set0(state))\n"


# --- recursion -----------------------------------------------------------------------------------------------------------------------


@_nasty(200)
def _mutual_recursion(n: int) -> str:
    """Every function calls every other one."""
    return (
        "".join(
            f"def f{i}(x, k):\n    if k < 0:\n        return x\n    return "
            + " + ".join(f"f{(i + d) % n}(x, k - {d})" for d in range(1, 6))
            + "\n"
            for i in range(n)
        )
        + "\nprint(f0(tf.ones([2]), 5))\n"
    )


@_nasty(25)
def _complete_call_graph(n: int) -> str:
    """Every function calls all of them, with different arguments."""
    return (
        "".join(
            f"def f{i}(x, k):\n    if k > {n}: return x\n"
            + "".join(f"    x = f{j}((x, {i}), k + {i})\n" for j in range(n))
            + "    return x\n"
            for i in range(n)
        )
        + "\nprint(f0(tf.ones([2]), 0))\n"
    )


@_nasty(6)
def _ackermann(n: int) -> str:
    return f"def a(m, k):\n    if m == 0: return k + 1\n    if k == 0: return a(m - 1, 1)\n    return a(m - 1, a(m, k - 1))\n\nprint(tf.ones([a({n}, {n})]))\ndef y(f): return (lambda x: x(x))(lambda x: f(lambda *v: x(x)(*v)))\nprint(y(lambda f: lambda k: 1 if k == 0 else k * f(k - 1))(900), (lambda x: x(x))(lambda x: x(x)))\n"


@_nasty(40)
def _church_numerals(n: int) -> str:
    return (
        "zero = lambda f: lambda x: x\nsucc = lambda k: lambda f: lambda x: f(k(f)(x))\nmul = lambda a: lambda b: lambda f: a(b(f))\ntwo = succ(succ(zero))\n"
        + "n0 = two\n"
        + "".join(f"n{i + 1} = mul(n{i})(n{i})\n" for i in range(n))
        + f"print(n{n}(lambda x: x + 1)(tf.ones([2])))\n"
    )


@_nasty(300)
def _closures_of_closures(n: int) -> str:
    return (
        "def compose(f, g):\n    def h(x):\n        return f(g(x)) + g(f(x))\n    return h\n\nf0 = lambda x: x + 1\nf1 = lambda x: x * 2\n"
        + "".join(f"f{i} = compose(f{i - 1}, f{i - 2})\n" for i in range(2, n))
        + f"print(f{n - 1}(tf.ones([2])))\n"
    )


@_nasty(300)
def _linked_objects(n: int) -> str:
    lines = "".join(
        f"n{i}.left = n{(i * 2) % n}\nn{i}.right = n{(i * 2 + 1) % n}\nn{i}.up = [n{(i * 3) % n}, n{i}]\n"
        for i in range(n)
    )
    return f"class N:\n    def sum(self, x):\n        return self.left.sum(x) + self.right.sum(x) + self.up[0].sum(x)\n\n{''.join(f'n{i} = N()' + chr(10) for i in range(n))}{lines}\nprint(n0.sum(tf.ones([2])))\n"


@_nasty(400)
def _cyclic_inheritance(n: int) -> str:
    classes = "".join(
        f"class C{i}(C{(i + 1) % n}):\n    def m{i}(self, x):\n        return super().m{(i + 1) % n}(x)\n"
        for i in range(n)
    )
    return f"{classes}\nclass D(D): pass\nC0 = C1\nclass C1(C0): pass\nclass C0(C1, C0, D): pass\nprint(C0().m0(tf.ones([2])))\n"


@_nasty(400)
def _deep_inheritance(n: int) -> str:
    classes = "".join(
        f"class C{i + 1}(C{i}):\n    def call(self, x):\n        return super().call(x) + {i}\n    def __init__(self):\n        super().__init__()\n        self.a{i} = tf.Variable({i}.)\n"
        for i in range(n)
    )
    return f"class C0(tf.keras.Model):\n    def call(self, x):\n        return x\n\n{classes}\nprint(C{n}()(tf.ones([2])))\n"


@_nasty(60)
def _metaclasses(n: int) -> str:
    lines = "".join(
        f"class M{i}(M{i - 1} if {i} else type):\n    def __new__(mcs, name, bases, space):\n        space['x'] = mcs\n        return super().__new__(mcs, name, bases, space)\n    def __call__(cls, *a, **k):\n        return super().__call__(*a, **k)\n    def __getattr__(cls, name):\n        return getattr(cls, name + 'x')\nclass C{i}(metaclass=M{i}):\n    def __getattribute__(self, name):\n        return self.__getattribute__(name)\n    def __call__(self, x):\n        return type(self)(x).y(x)\n"
        for i in range(n)
    )
    return f"{lines}\nprint([c()(tf.ones([2])) for c in ({', '.join(f'C{i}' for i in range(n))},)])\n"


@_nasty(100)
def _self_containing(n: int) -> str:
    return (
        "l = []\nl.append(l)\nd = {}\nd['d'] = d\nt = (l, d)\nl.append(t)\n"
        + "".join(f"l.append([l, d, t]); d[{i}] = l; t = (t, l[{i}], d)\n" for i in range(n))
        + "\ndef f(x):\n    for e in l:\n        for q in e:\n            x = x + q[0][0][0]\n            l.append(q)\n            d[q] = t\n    return x, t\n\nprint(f(l), f(d), f(t), tf.nest.flatten(t))\n"
    )


# --- files ---------------------------------------------------------------------------------------------------------------------------


@_nasty(300)
def _import_cycle(n: int) -> Files:
    return {
        f"m{i}.py": f"import tensorflow as tf\nfrom m{(i + 1) % n} import f{(i + 1) % n}\nimport m{(i * 7) % n}\n\ndef f{i}(x):\n    if x is None:\n        return m{(i * 7) % n}.f{(i * 7) % n}(x)\n    return tf.nn.relu(f{(i + 1) % n}(x))\n\nprint(f{i}(tf.ones([{i}])))\n"
        for i in range(n)
    }


@_nasty(150)
def _star_import_cycle(n: int) -> Files:
    return {
        f"m{i}.py": f"import tensorflow as tf\nfrom m{(i + 1) % n} import *\nfrom m{(i + 2) % n} import *\nfrom m{(i * 3) % n} import *\nv{i} = tf.ones([2])\n\ndef f{i}(x):\n    return f{(i + 1) % n}(x) + v{(i * 5) % n}\n"
        for i in range(n)
    } | {"__init__.py": "from . import *\n"}


@_nasty(120)
def _deep_package(n: int) -> Files:
    parts = [f"p{i}" for i in range(n // 4)]
    files = {
        "/".join(parts[: i + 1])
        + "/__init__.py": f"from .{parts[i + 1] if i + 1 < len(parts) else ''} import *\nfrom {'.' * (i + 1)} import x\n"
        for i in range(len(parts))
    }
    return files | {
        "/".join(parts)
        + "/m.py": "import tensorflow as tf\nfrom .............................. import *\nfrom .m import *\nx = tf.ones([2])\n"
    }


@_nasty(600)
def _many_modules_in_a_star(n: int) -> Files:
    files = {
        f"m{i}.py": f"import tensorflow as tf\nimport hub\n\ndef f{i}(x):\n    return hub.table['{i}'](x)\n\nhub.table['{i}'] = f{i}\nhub.register(f{i})\n"
        for i in range(n)
    }
    imports = "".join(f"import m{i}\n" for i in range(n))
    return files | {
        "hub.py": f"import tensorflow as tf\ntable = {{}}\nall = []\ndef register(f):\n    all.append(f)\n    table[f.__name__] = f\n\ndef run(x):\n    for f in all:\n        x = f(x)\n    return x\n{imports}\nprint(run(tf.ones([2])))\n"
    }


@_nasty(60)
def _call_lattice(n: int) -> str:
    """Each function is called by the previous two: 2 ** n paths from the last one up to the entries."""
    functions = "".join(
        f"def {one}{i}(x):\n    return tf.nn.relu(tf.matmul(f{i + 1}(x), g{i + 1}(x)))\n\n\n"
        for i in range(n)
        for one in "fg"
    )
    return f"{functions}def f{n}(x):\n    return x + 1.\n\n\ndef g{n}(x):\n    return x * 2.\n\n\nprint(f0(tf.ones([2, 2])), g0(tf.ones([2, 2])))\n"
