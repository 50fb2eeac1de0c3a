"""Writes random programs about objects that lead to each other, whose values a test can compare with the abstract ones.

Computes: a text from a `random.Random`. Functions follow fields (`x.a.b`), change reachable objects, return objects,
call each other, and themselves a few times. Callers link objects in different ways, including aliases, and pass them:
a summary of one call is applied to other heaps, some of the same form. `mark(n, value)` marks a value for comparison.
Every program ends.
"""

from __future__ import annotations

import textwrap
from random import Random

PRELUDE = """
class Node:
    def __init__(self, n):
        self.n = n
        self.a = self
        self.b = self
        self.items = []
    def link(self, a, b):
        self.a = a
        self.b = b
        return self
    def raised(self):
        self.n = self.n + 1
        return self.a

kept = Node(100)
"""


class HeapProgramWriter:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.marks = 0
        self.functions = 0
        self.fresh = 0

    def program(self) -> str:
        parts = [PRELUDE]
        for _ in range(self.random.randint(2, 5)):
            parts.append(self.function())
            self.functions += 1
        callers = self.random.randint(2, 4)
        parts.extend(self.caller(number) for number in range(callers))
        parts.extend(f"main{number}()" for number in range(callers))
        if self.random.random() < 0.5:
            parts.append("main0()")
        parts.append(self.mark("kept.n"))
        return "\n".join(parts) + "\n"

    def function(self) -> str:
        """A function of two objects and the remaining recursion depth."""
        body = self.block(["x", "y"], self.random.randint(2, 5), inside=True)
        return f"def f{self.functions}(x, y, d):\n{textwrap.indent(body, '    ')}\n    return {self.path(['x', 'y'])}\n"

    def caller(self, number: int) -> str:
        names = [f"o{i}" for i in range(self.random.randint(2, 4))]
        lines = [f"{name} = Node({position})" for position, name in enumerate(names)]
        lines += [self.linking(names) for _ in range(self.random.randint(1, 4))]
        lines.append(self.block(names, self.random.randint(2, 5), inside=False))
        lines += [self.mark(f"{name}.n") for name in names]
        body = textwrap.indent("\n".join(lines), "    ")
        return f"def main{number}():\n{body}\n"

    def block(self, names: list[str], length: int, *, inside: bool) -> str:
        names = list(names)
        return "\n".join(self.statement(names, inside=inside) for _ in range(length))

    def statement(self, names: list[str], *, inside: bool) -> str:
        match self.random.randrange(14):
            case 0 | 1:
                return self.linking(names)
            case 2 | 3:
                return f"{self.path(names)}.n = {self.path(names)}.n + {self.random.randint(1, 3)}"
            case 4:
                name = self.new_name()
                text = f"{name} = {self.path(names)}"
                names.append(name)
                return text
            case 5:
                name = self.new_name()
                text = f"{name} = Node({self.random.randint(5, 9)}).link({self.path(names)}, {self.path(names)})"
                names.append(name)
                return text
            case 6:
                then = textwrap.indent(self.block(names, 1, inside=inside), "    ")
                other = textwrap.indent(self.block(names, 1, inside=inside), "    ")
                return f"if flip():\n{then}\nelse:\n{other}"
            case 7:
                return f"for each in [{self.path(names)}, {self.path(names)}]:\n    each.n = each.n + 1"
            case 8:
                place = self.path(names)
                return f"{place}.items.append({self.path(names)})\n{self.mark(f'{place}.items[0].n')}"
            case 9:
                name = self.new_name()
                text = (
                    f"def {name}():\n    {self.path(names)}.n = {self.path(names)}.n * 2\n    return {self.path(names)}"
                )
                return f"{text}\n{self.mark(f'{name}().n')}"
            case 10:
                return self.mark(f"{self.path(names)} is {self.path(names)}")
            case 11:
                return f"{self.path(names)}.{self.random.choice('ab')} = {self.path(names)}.raised()"
            case _ if self.functions or inside:
                name = self.new_name()
                recursive = inside and (not self.functions or self.random.random() < 0.3)
                number = self.functions if recursive else self.random.randrange(self.functions)
                depth = "d - 1" if inside else str(self.random.randint(1, 2))
                call = f"f{number}({self.path(names)}, {self.path(names)}, {depth})"
                text = f"{name} = {call}" + (f" if d > 0 else {self.path(names)}" if inside else "")
                names.append(name)
                return f"{text}\n{self.mark(f'{name}.n')}"
            case _:
                return self.mark(f"{self.path(names)}.n")

    def linking(self, names: list[str]) -> str:
        return f"{self.path(names)}.{self.random.choice('ab')} = {self.path(names)}"

    def path(self, names: list[str]) -> str:
        """An object, by a name and fields; sometimes one held by the module."""
        start = "kept" if self.random.random() < 0.06 else self.random.choice(names)
        return ".".join([start, *self.random.choices("ab", k=self.random.choice((0, 0, 1, 1, 2)))])

    def new_name(self) -> str:
        self.fresh += 1
        return f"z{self.fresh}"

    def mark(self, expression: str) -> str:
        self.marks += 1
        return f"mark({self.marks}, {expression})"


WIDER_PRELUDE = """
class Leaf(Node):
    def raised(self):
        self.n = self.n + 10
        return self.b

shelf = [Node(200), Leaf(201)]

def capture(x, y):
    def inner():
        x.n = x.n + 1
        return y
    return inner

def keep_in(x):
    held = x
    def swap(y):
        nonlocal held
        before = held
        held = y
        return before
    return swap

def made(n):
    return Node(n)

def made_far(n):
    return made(n)

def made_farther(n):
    return made_far(n)

def made_farthest(n):
    return (made_farther(n), made_farther(n + 1))

def pair_of(n):
    return made_farthest(n)

def pair_from(n):
    return pair_of(n)

def chain(x, d):
    if d <= 0:
        return x
    link = Node(d)
    link.a = x
    x.b = link
    return chain(link, d - 1)

def even(x, y, d):
    x.n = x.n + 1
    return odd(y, x, d - 1) if d > 0 else x

def odd(x, y, d):
    y.n = y.n * 2
    return even(x, y, d - 1) if d > 0 else y

def each_of(x, k):
    last = x
    for i in range(k):
        last = Node(i).link(last, x)
        yield last
"""


class WiderHeapProgramWriter(HeapProgramWriter):
    """Adds closures, fields that hold lists and dicts of objects, attributes with computed names, two classes, loops
    that create objects, generators, recursion of two functions, objects from deep callees, and functions called with
    many alias patterns.
    """

    def program(self) -> str:
        text = super().program()
        return text.replace(PRELUDE, PRELUDE + WIDER_PRELUDE, 1)

    def caller(self, number: int) -> str:
        text = super().caller(number)
        if self.random.random() < 0.5:
            return text
        names = self.random.choices(("o0", "o1", "o0.a", "o0.b", "o1.a", "o1.b", "kept", "o0.a.b"), k=5)
        function = f"f{self.random.randrange(self.functions)}"
        calls = []
        for _ in range(self.random.randint(14, 18)):
            first, second = self.random.choice(names), self.random.choice(names)
            calls.append(f"    {self.mark(f'{function}({first}, {second}, {self.random.randint(0, 1)}).n')}")
            if self.random.random() < 0.3:
                calls.append(f"    {self.linking(['o0', 'o1'])}")
            if self.random.random() < 0.3:
                calls.append(f"    {self.mark(f'{self.random.choice(names)}.n')}")
        return text + "\n".join(calls) + "\n"

    def statement(self, names: list[str], *, inside: bool) -> str:
        if self.random.random() < 0.5:
            return super().statement(names, inside=inside)
        here, there = self.path(names), self.path(names)
        name = self.new_name()
        number = self.random.randint(5, 9)
        match self.random.randrange(22):
            case 0:
                lines = [f"{here}.call = capture({there}, {self.path(names)})", f"{name} = {here}.call()"]
            case 1:
                other = self.new_name()
                lines = [f"{other} = keep_in({here})", f"{other}({there})", f"{name} = {other}({here})"]
            case 2:
                lines = [f"{here}.items = [{there}, {self.path(names)}]", f"{name} = {here}.items[{self.index()}]"]
            case 3:
                lines = [f"for each in {here}.items:", f"    each.n = {there}.n + 1", f"{name} = {here}"]
            case 4:
                lines = [f"{here}.items.append({there})", f"{name} = {here}.items.pop()"]
            case 5:
                lines = [
                    f"{here}.table = {{'a': {there}, 'b': {self.path(names)}}}",
                    f"{name} = {here}.table[{self.key()}]",
                ]
            case 6:
                table = self.new_name()
                lines = [f"{table} = {{}}", f"{table}[{self.key()}] = {here}", f"{table}[{self.key()}] = {there}"]
                lines += [f"for each in {table}.values():", "    each.n = each.n + 2"]
                lines += [f"{name} = {table}.get({self.key()}, {here})"]
            case 7:
                lines = [f"{name} = getattr({here}, {self.key()})"]
            case 8:
                lines = [f"{name} = Leaf({number}).link({here}, {there})"]
            case 9:
                lines = [f"{name} = {here}", "while flip():", f"    {name} = Node({number}).link({name}, {there})"]
                lines += [f"    {self.mark(f'{name}.a.n')}", f"    {name}.n = {name}.n + 1"]
            case 10:
                lines = [
                    f"for {name} in each_of({here}, {self.random.randint(1, 3)}):",
                    f"    {name}.n = {name}.n + 20",
                ]
                lines += [f"    {self.mark(f'{name}.a.n')}"]
            case 11:
                lines = [
                    f"{name} = {self.random.choice(('even', 'odd'))}({here}, {there}, {self.random.randint(0, 4)})"
                ]
            case 12:
                lines = [f"{name} = even({here}, {there}, 1 if flip() else 3)"]
            case 13:
                lines = [f"{name} = chain({here}, {self.random.randint(1, 3)})"]
            case 14:
                other = self.new_name()
                function = self.random.choice(("made_farthest", "pair_of", "pair_from"))
                lines = [f"{name}, {other} = {function}({number})", f"{name}.n = {here}.n", self.mark(f"{other}.n")]
                lines += [f"{here}.a = {other}"]
            case 15:
                lines = [f"shelf.append({here})", f"{name} = shelf[{self.index()}]"]
            case 16:
                lines = [f"{name} = [Node(i).link({here}, {there}) for i in range({self.random.randint(2, 4)})]"]
                lines += [f"{name}[0].n = 50", self.mark(f"{name}[1].n"), f"{name} = {name}[-1]"]
            case 17:
                lines = [f"{name} = {here} if {there}.n > {number} else {self.path(names)}"]
            case 18:
                lines = ["try:", f"    {here}.n = {there}.n // ({self.path(names)}.n - {number})"]
                lines += ["except ZeroDivisionError:", f"    {here}.n = 0", f"{name} = {there}"]
            case 19:
                lines = [f"{name} = {here}.raised", f"{name}()", f"{name} = {name}()"]
            case 20:
                lines = [f"{name} = (lambda v, w={here}: v.link(w, v))({there})"]
            case _:
                lines = [f"{name}, {self.new_name()} = {here}, {there}", f"{name}.a, {here}.b = {there}, {name}"]
        names.append(name)
        return "\n".join([*lines, self.mark(f"{name}.n"), self.mark(f"{self.path(names)}.n")])

    def index(self) -> str:
        return self.random.choice(("0", "1", "-1", "0 if flip() else 1"))

    def key(self) -> str:
        return self.random.choice(("'a'", "'b'", "'a' if flip() else 'b'"))
