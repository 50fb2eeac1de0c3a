"""Writes random programs of plain Python whose values a test can compare with the abstract ones.

Computes: a text from a `random.Random`. Variables are named after the kind of value that they mostly hold (`i1` a
number, `l1` a list, `d1` a dict, `o1` an object, `f1` a function, `m1` anything), so that most programs run far.
`mark(n, value)` marks a value for comparison; mutable containers are marked through a tuple of their elements.
`flip()` returns True or False, unknown to the analysis.

Every program ends: loops run over small containers or count, recursion counts down, functions call only functions
defined above them. Left out, because the analysis documents that it ignores them: changing a list while iterating
over it, side effects in generators, and partial effects of a failing call or an implicit exception.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field, replace
from random import Random

PRELUDE = """
from functools import partial

class Box:
    count = 0
    label = "box"
    def __init__(self, n):
        self.n = n
        self.items = []
    def add(self, i):
        self.items.append(i)
        self.n = self.n + i
        return self.n
    @property
    def twice(self):
        return self.n * 2
    @staticmethod
    def half(i):
        return i // 2
    @classmethod
    def make(cls, n):
        return cls(n)
    def give(self, other):
        other.n = self.n
        self.n = 0
    def __len__(self):
        return len(self.items)
    def __enter__(self):
        self.n = self.n + 10
        return self
    def __exit__(self, *error):
        self.label = "left"
        return False

class Sub(Box):
    def __init__(self, n):
        super().__init__(n + 1)
        self.kind = "sub"
    def add(self, i):
        return super().add(i + 1)

def identity(x):
    return x

def make_counter(start):
    total = start
    def step(i):
        nonlocal total
        total = total + i
        return total
    return step

def pairs(items):
    for item in items:
        yield item, 1

def count_down(n):
    if n <= 0:
        return 0
    return count_down(n - 1) + 1

g1 = 0
gl = []
"""

TEXTS = ('"k"', '"s"', '"a"')
KINDS = "ilydtofm"
LETTERS = {"y": "s"}


@dataclass(frozen=True)
class Place:
    """The place of a statement."""

    depth: int = 2
    in_loop: bool = False
    in_function: bool = True
    is_nested: bool = False
    in_try: bool = False
    iterated: frozenset[str] = frozenset()


@dataclass
class ValueProgramWriter:
    """Writes programs."""

    random: Random
    counter: int = 0
    functions: list[str] = field(default_factory=list)

    def number(self) -> int:
        self.counter += 1
        return self.counter

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def program(self) -> str:
        self.functions = []
        self.counter = 0
        parts = [PRELUDE]
        for index in range(self.random.randint(0, 2)):
            parts.append(self.function(f"h{index}"))
            self.functions.append(f"h{index}")
        parts.append(self.function("main"))
        parts.append('if __name__ == "__main__":\n    main(1, [1, 2], {"k": 1}, Box(3))')
        return "\n".join(parts) + "\n"

    def function(self, name: str) -> str:
        lines = ["i2, l2, d2 = 0, [], {}", "s1 = 'k'", "t1 = (1, 2)", "m1 = None", "f1 = identity", "o2 = o1"]
        lines += self.statements(Place(), self.random.randint(5, 14))
        body = textwrap.indent("\n".join(lines), "    ")
        return f"def {name}(i1, l1, d1, o1):\n{body}\n"

    # --- statements ---

    def block(self, place: Place) -> str:
        inner = replace(place, depth=place.depth - 1)
        return textwrap.indent("\n".join(self.statements(inner, self.random.randint(1, 3))), "    ")

    def statements(self, place: Place, count: int) -> list[str]:
        return [self.statement(place) for _ in range(count)]

    def statement(self, place: Place) -> str:
        writers = [self.assign] * 5 + [self.mark] * 5 + [self.change] * 4 + [self.call] * 2
        if place.depth > 0:
            writers += [self.if_] * 3 + [self.for_] * 2 + [self.while_, self.try_, self.with_, self.match]
            if not place.is_nested:
                writers += [self.define]
        if place.depth < 2:
            writers += [self.leave]
        return self.random.choice(writers)(place)

    def mark(self, place: Place) -> str:
        kind = self.random.choice(KINDS)
        if kind == "l":
            return f"mark({self.number()}, tuple({self.var('l')}))"
        if kind == "d":
            name = self.var("d")
            return self.pick(
                f"mark({self.number()}, {name}.get({self.random.choice(TEXTS)}))",
                f"mark({self.number()}, tuple(sorted({name}.values())))",
                f"mark({self.number()}, {self.random.choice(TEXTS)} in {name})",
            )
        if kind == "o":
            name = self.var("o")
            return self.pick(
                f"mark({self.number()}, {name}.n)",
                f"mark({self.number()}, tuple({name}.items))",
                f"mark({self.number()}, {name}.label)",
                f"mark({self.number()}, {name}.count)",
                f"mark({self.number()}, {name})",
            )
        if kind == "f":
            return f"mark({self.number()}, {self.fn()}({self.int_()}))"
        return f"mark({self.number()}, {self.value(kind)})"

    def assign(self, place: Place) -> str:
        kind = self.random.choice(KINDS)
        name = self.var(kind)
        if kind in "ld" and name in place.iterated:
            return f"mark({self.number()}, {self.var('i')})"
        if kind == "m":
            return f"m1 = {self.pick('None', self.int_(), self.text(), self.list_(), self.obj())}"
        if kind == "i" and self.random.random() < 0.2:
            return self.pick(
                f"i1, i2 = {self.int_()}, {self.int_()}",
                "i1, *l2 = (3, 4, 5)" if "l2" not in place.iterated else "pass",
                "i1 = i2 = 4",
                f"{name} += {self.int_()}",
            )
        return f"{name} = {self.value(kind)}"

    def change(self, place: Place) -> str:
        target = self.var("l")
        if target in place.iterated or place.iterated:
            return f"i1 = {self.int_()}"
        which = self.var("o")
        d = self.var("d")
        return self.pick(
            f"{target}.append({self.int_()})",
            f"{target}.extend({self.list_()})",
            f"{target} += {self.list_()}",
            f"if {target}:\n    {target}.pop()",
            f"if {target}:\n    {target}[0] = {self.int_()}",
            f"{target}.insert(0, {self.int_()})",
            f"{target}.reverse()",
            f"{target}.clear()",
            f"{d}[{self.random.choice(TEXTS)}] = {self.int_()}",
            f"{d}[s1] = {self.int_()}",
            f"{d}.pop({self.random.choice(TEXTS)}, None)",
            f"{d}.setdefault({self.random.choice(TEXTS)}, {self.int_()})",
            f"{d}.update({self.dict_()})",
            f"{which}.n = {self.int_()}",
            f"{which}.count += 1",
            f"{which}.items.append({self.int_()})",
            f"{which}.label = {self.text()}",
            "Box.count = Box.count + 1",
            "gl.append(i1)",
        )

    def call(self, place: Place) -> str:
        options = [
            f"{self.var('o')}.add({self.int_()})",
            f"{self.var('o')}.give({self.var('o')})",
            f"i2 = {self.var('o')}.add({self.int_()})",
            f"f1({self.int_()})",
        ]
        if self.functions and not place.iterated:
            name = self.random.choice(self.functions)
            arguments = f"{self.int_()}, {self.list_()}, {self.dict_()}, {self.obj()}"
            options += [f"m1 = {name}({arguments})"] * 3
        if place.iterated:
            return f"i2 = {self.int_()}"
        return self.random.choice(options)

    def if_(self, place: Place) -> str:
        text = f"if {self.condition()}:\n{self.block(place)}"
        if self.random.random() < 0.6:
            text += f"\nelse:\n{self.block(place)}"
        return text

    def for_(self, place: Place) -> str:
        iterable = self.pick(
            self.list_(), "l1", "l2", "t1", "range(i1 % 4)", "range(3)", "range(20)", "enumerate(l1)", "d1"
        )
        target = "i3"
        iterated = place.iterated
        if iterable == "enumerate(l1)":
            target = "i3, i4"
        if iterable == "d1":
            target = "s1"
        if iterable in ("l1", "l2", "d1", "enumerate(l1)"):
            iterated = iterated | {"l1", "l2", "d1", "d2"}
        inner = replace(place, in_loop=True, iterated=iterated)
        text = f"for {target} in {iterable}:\n{self.block(inner)}"
        if self.random.random() < 0.2:
            text += f"\nelse:\n{self.block(place)}"
        return text

    def while_(self, place: Place) -> str:
        name = f"w{self.number()}"
        inner = replace(place, in_loop=True)
        return f"{name} = 0\nwhile {name} < {self.pick('1', '3', '6')}:\n    {name} += 1\n{self.block(inner)}"

    def try_(self, place: Place) -> str:
        body = [f"if {self.condition()}:\n    raise ValueError", f"i2 = {self.int_()}"]
        if self.random.random() < 0.3:
            body = [f"i2 = {self.int_()}", "raise KeyError"]
        text = "try:\n" + textwrap.indent("\n".join(body), "    ")
        if self.random.random() < 0.8:
            text += f"\nexcept {self.pick('ValueError', '(KeyError, ValueError)', 'Exception as error')}:\n{self.block(place)}"
            if self.random.random() < 0.3:
                text += f"\nelse:\n{self.block(place)}"
            if self.random.random() < 0.4:
                text += f"\nfinally:\n{self.block(place)}"
        else:
            text = f"try:\n{self.block(place)}\nfinally:\n{self.block(replace(place, in_loop=False))}"
        return text

    def with_(self, place: Place) -> str:
        return f"with {self.obj()} as o2:\n{self.block(place)}"

    def match(self, place: Place) -> str:
        subject = self.pick("i1", "m1", "l1", "t1", "(i1, s1)", "o1")
        cases = [
            "case 0 | 1:",
            "case int(n):",
            "case [n, *rest]:",
            "case (n, 'k'):",
            "case None:",
            "case Sub():",
            "case Box(n=n):",
            "case n if n == i1:",
        ]
        chosen = self.random.sample(cases, 2)
        text = f"match {subject}:\n"
        for case in chosen:
            marked = f"    mark({self.number()}, n)\n" if "n" in case.replace("None", "").replace("int", "") else ""
            text += textwrap.indent(f"{case}\n{marked}{self.block(place)}\n", "    ")
        return text + textwrap.indent(f"case _:\n{self.block(place)}", "    ")

    def define(self, place: Place) -> str:
        name = f"n{self.number()}"
        inner = replace(place, in_loop=False, is_nested=True, iterated=frozenset())
        outer = self.pick("i2", "m1", "")
        head = f"    nonlocal {outer}\n" if outer else ""
        own = "" if outer == "i2" else "    i2 = i1\n"
        own += "" if outer == "m1" else "    m1 = None\n"
        fresh = "    i3, i4, s1, t1, f1, o2, l2, d2 = 1, 2, 'a', (1, 2), identity, o1, [], {}\n"
        body = self.block(inner)
        call = f"m1 = {name}({self.int_()})"
        return f"def {name}(i1, l1=l1, d1=d1, o1=o1):\n{head}{own}{fresh}{body}\n    return i1\n" + (
            f"f1 = {name}\n{call}" if self.random.random() < 0.5 else call
        )

    def leave(self, place: Place) -> str:
        if place.in_loop and self.random.random() < 0.6:
            return self.pick(f"if {self.condition()}:\n    break", f"if {self.condition()}:\n    continue")
        return f"if {self.condition()}:\n    return {self.pick(self.int_(), self.list_(), self.obj(), 'None')}"

    # --- expressions ---

    def var(self, kind: str) -> str:
        if kind == "y":
            return "s1"
        if kind in "tmf":
            return f"{kind}1"
        return self.pick(f"{kind}1", f"{kind}2")

    def value(self, kind: str, depth: int = 2) -> str:
        writers = {
            "i": self.int_,
            "l": self.list_,
            "y": self.text,
            "d": self.dict_,
            "t": self.tuple_,
            "o": self.obj,
            "f": self.fn,
        }
        return "m1" if kind == "m" else writers[kind](depth)

    def int_(self, depth: int = 2) -> str:
        if depth <= 0 or self.random.random() < 0.4:
            return self.pick("0", "1", "2", "7", "i1", "i2")
        depth -= 1
        a, b = self.int_(depth), self.int_(depth)
        return self.pick(
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * 2)",
            f"({a} % 3)",
            f"(-{a})",
            f"({a} if {self.condition(depth)} else {b})",
            f"len({self.list_(depth)})",
            f"sum({self.list_(depth)})",
            f"max({a}, {b})",
            f"abs({a})",
            f"({self.list_(depth)} or [3])[0]",
            f"({self.list_(depth)} or [3])[-1]",
            f"{self.var('d')}.get({self.random.choice(TEXTS)}, {a})",
            f"{self.var('o')}.n",
            f"{self.var('o')}.twice",
            f"{self.var('o')}.count",
            f"len({self.var('o')})",
            f"Box.half({a})",
            f"identity({a})",
            f"(lambda x: x + 1)({a})",
            f"(lambda x, y={b}: x - y)({a})",
            "count_down(3)",
            f"{self.tuple_(depth)}[0]",
            f"({a} or {b})",
            f"({a} and {b})",
            f"int({self.condition(depth)})",
            f"getattr(o1, 'n', {a})",
            "g1",
            "int(flip())",
        )

    def list_(self, depth: int = 2) -> str:
        if depth <= 0 or self.random.random() < 0.4:
            return self.pick("[]", "[1]", "[1, 2]", "[3, 1, 2]", "l1", "l2")
        depth -= 1
        a, inner = self.int_(depth), self.list_(depth)
        return self.pick(
            f"[{a}, {self.int_(depth)}]",
            f"[x + 1 for x in {inner}]",
            f"[x for x in {inner} if x > 1]",
            f"[x + y for x in {inner} for y in (1, 2)]",
            f"list({inner})",
            f"({inner} + {self.list_(depth)})",
            f"({inner} * 2)",
            f"{inner}[1:]",
            f"{inner}[::-1]",
            f"{inner}[:i1]",
            f"sorted({inner})",
            f"list(range({a} % 4))",
            f"[*{inner}, {a}]",
            f"list(map(identity, {inner}))",
            f"list(filter(None, {inner}))",
            f"[a for a, b in pairs({inner})]",
            f"[a * b for a, b in zip({inner}, (1, 2))]",
            f"[i for i, x in enumerate({inner})]",
            f"list({self.tuple_(depth)})",
            f"{self.var('o')}.items",
            f"list(reversed({inner}))",
            f"{inner}.copy()",
        )

    def tuple_(self, depth: int = 2) -> str:
        if depth <= 0:
            return self.pick("(1, 2)", "t1")
        depth -= 1
        return self.pick(
            f"({self.int_(depth)}, {self.int_(depth)})", "t1", "(1, 2, 3)[1:]", f"({self.int_(depth)},) + t1"
        )

    def dict_(self, depth: int = 2) -> str:
        if depth <= 0:
            return self.pick("{}", '{"k": 1}', "d1", "d2")
        depth -= 1
        a = self.int_(depth)
        return self.pick(
            f'{{"k": {a}, "s": {self.int_(depth)}}}',
            f'{{**{self.dict_(depth)}, "a": {a}}}',
            f'{{"k": {a}, s1: {self.int_(depth)}}}',
            f"dict(k={a})",
            f"dict({self.dict_(depth)})",
            "{x: 1 for x in ('k', 'a')}",
            "dict(zip(('k', 's'), (1, 2)))",
            "d1.copy()",
            self.var("d"),
        )

    def text(self, depth: int = 2) -> str:
        return self.pick(
            '"k"', '"s"', "s1", f"({self.condition(0)} and 's' or 'k')", 'f"{s1}"', "str(i1)", "s1 + 'k'", "s1[:1]"
        )

    def obj(self, depth: int = 2) -> str:
        if depth <= 0:
            return self.pick("o1", "o2")
        return self.pick(
            f"Box({self.int_(depth - 1)})", f"Sub({self.int_(depth - 1)})", "Sub.make(2)", "identity(o1)", "o1", "o2"
        )

    def fn(self, depth: int = 2) -> str:
        return self.pick(
            "identity",
            "f1",
            "(lambda x: x * 2)",
            "make_counter(i1)",
            "partial(max, 2)",
            "Box.half",
            "(lambda x: x + i2)",
            "abs",
        )

    def condition(self, depth: int = 1) -> str:
        if self.random.random() < 0.35:
            return "flip()"
        if depth <= 0 or self.random.random() < 0.5:
            return self.pick(
                "i1 > 1",
                "i2 == 0",
                "l1",
                "not l2",
                "m1 is None",
                "m1 is not None",
                "o1 is o2",
                "s1 == 'k'",
                "True",
                "i1",
                "d1",
            )
        depth -= 1
        return self.pick(
            f"{self.int_(depth)} < {self.int_(depth)}",
            f"{self.int_(depth)} in {self.list_(depth)}",
            f"isinstance(m1, {self.pick('int', 'str', 'Box', '(int, list)')})",
            f"isinstance(o1, {self.pick('Sub', 'Box')})",
            f"{self.condition(depth)} and {self.condition(depth)}",
            f"{self.condition(depth)} or {self.condition(depth)}",
            f"not {self.condition(depth)}",
            f"(i1 > 1) is {self.pick('True', 'False')}",
            f"any({self.list_(depth)})",
            f"all({self.list_(depth)})",
            f"{self.random.choice(TEXTS)} in {self.var('d')}",
            "hasattr(o1, 'kind')",
            "callable(f1)",
            "0 < i1 < 5",
            f"type(o1) is {self.pick('Sub', 'Box')}",
        )
