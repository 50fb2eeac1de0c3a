"""Writes random programs that compile and run many statements.

Computes: a text from a `random.Random`. Each statement of the module is in a `try`, so that a failure does not end
the program; statements are valid at their place (`return` in functions, `break` in loops). There are few names, so
that scopes interact. The programs call `log`, `gather`, `manager`, `drain` and `wrap`, which the test provides.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

NAMES = ("a", "b", "c", "d")
ATOMS = (
    "0",
    "1",
    "2",
    "-3",
    "None",
    "True",
    "'s'",
    "()",
    "[1, 2]",
    "(0, 1)",
    "{'k': 1, 's': 2}",
    "[(1, 2), (3, 4)]",
    "Box",
)
BINARY = ("+", "-", "*", "//", "%", "&", "|", "<<")
COMPARISONS = ("<", "<=", "==", "!=", "is", "is not", "in", "not in")
ITERABLES = ("[1, 2]", "(0, 1)", "range(3)", "'xy'", "[(1, 2), (3, 4)]")


@dataclass(frozen=True)
class Place:
    """The place of a statement."""

    in_function: bool = False
    in_loop: bool = False
    in_class: bool = False
    is_generator: bool = False
    depth: int = 2


class ProgramWriter:
    def __init__(self, random: Random) -> None:
        self.random = random

    def program(self) -> str:
        lines = ["a, b = 1, [1, 2]", "class Box: n = 1"]
        for _ in range(self.random.randint(2, 6)):
            body = self.block(Place())
            lines.append(f"try:\n{body}\nexcept Exception as error:\n    log(type(error).__name__)")
        lines.append("\n".join(f"try: log({name})\nexcept NameError: log('no {name}')" for name in NAMES))
        return "\n".join(lines) + "\n"

    # --- statements ---

    def block(self, place: Place) -> str:
        statements = [self.statement(place) for _ in range(self.random.randint(1, 3))]
        return textwrap.indent("\n".join(statements), "    ")

    def statement(self, place: Place) -> str:
        writers = [self.simple] * 4
        if place.depth > 0:
            writers += [
                self.if_,
                self.for_,
                self.while_,
                self.try_,
                self.with_,
                self.match,
                self.define,
                self.define,
                self.class_,
            ]
        return self.random.choice(writers)(place)

    def simple(self, place: Place) -> str:
        e, name, pick = self.expression, self.name, self.random.choice
        forms = [
            lambda: f"log({e()})",
            lambda: f"{name()} = {e()}",
            lambda: f"{self.target()} = {name()} = {pick(ITERABLES)}",
            lambda: f"{name()} {pick(BINARY)}= {e()}",
            lambda: f"{name()}: log('annotation') = {e()}",
            lambda: f"Box.n = {e()}; log(Box.n)",
            lambda: f"Box.n {pick(BINARY)}= {e()}",
            lambda: f"{name()}[{e()}] = {e()}",
            lambda: f"({name()}, *{name()}), {name()} = {pick(ITERABLES)}, {e()}",
            lambda: f"del {name()}",
            lambda: f"assert {e()}, {e()}",
            lambda: f"if {e()}: raise {pick(('ValueError', 'KeyError(1)', 'TypeError from None'))}",
        ]
        if place.in_function:
            forms.append(lambda: f"return {e()}")
        if place.is_generator:
            forms += [lambda: f"{name()} = yield {e()}", lambda: f"log((yield from {pick(ITERABLES)}))"]
        if place.in_loop:
            forms += [lambda: f"if {e()}: break", lambda: f"if {e()}: continue"]
        return pick(forms)()

    def if_(self, place: Place) -> str:
        inner = replace(place, depth=place.depth - 1)
        text = f"if {self.expression()}:\n{self.block(inner)}"
        if self.random.random() < 0.5:
            text += f"\nelif {self.expression()}:\n{self.block(inner)}"
        return text + f"\nelse:\n{self.block(inner)}"

    def for_(self, place: Place) -> str:
        outer = replace(place, depth=place.depth - 1)
        body = self.block(replace(outer, in_loop=True))
        text = f"for {self.target()} in {self.iterable()}:\n    log('for')\n{body}"
        return text + (f"\nelse:\n{self.block(outer)}" if self.random.random() < 0.4 else "")

    def while_(self, place: Place) -> str:
        outer = replace(place, depth=place.depth - 1)
        body = self.block(replace(outer, in_loop=True))
        count = self.random.randint(1, 3)
        head = f"ticks = iter(range({count}))\nwhile next(ticks, None) is not None and log({self.expression()}) is not None:"
        return f"{head}\n{body}\nelse:\n{self.block(outer)}"

    def try_(self, place: Place) -> str:
        inner = replace(place, depth=place.depth - 1)
        kinds = self.random.choice(("ValueError", "(TypeError, NameError)", "log(Exception)", "LookupError"))
        text = f"try:\n{self.block(inner)}\nexcept {kinds} as {self.name()}:\n    log('except')\n{self.block(inner)}"
        if self.random.random() < 0.3:
            text += f"\nexcept:\n{self.block(inner)}\n    raise"
        if self.random.random() < 0.5:
            text += f"\nelse:\n{self.block(inner)}"
        if self.random.random() < 0.5:
            # No `continue`, `break` or `return` here, about which Python warns.
            last = self.block(replace(inner, in_loop=False, in_function=False))
            text += f"\nfinally:\n    log('finally')\n{last}"
        return text

    def with_(self, place: Place) -> str:
        inner = replace(place, depth=place.depth - 1)
        second = f", manager({self.expression()})" if self.random.random() < 0.4 else ""
        return f"with manager({self.iterable()}) as {self.target()}{second}:\n{self.block(inner)}"

    def match(self, place: Place) -> str:
        inner = replace(place, depth=place.depth - 1)
        cases = []
        for _ in range(self.random.randint(1, 3)):
            guard = f" if {self.expression()}" if self.random.random() < 0.4 else ""
            names = iter(self.random.sample(NAMES, len(NAMES)))
            if self.random.random() < 0.2:
                cases.append(f"    case [*_] | {{}} | 1 | None as d if log({self.expression()}):\n        log(d)")
            cases.append(
                f"    case {self.pattern(names, 2)}{guard or ' if True'}:\n{textwrap.indent(self.block(inner), '    ')}"
            )
        subject = self.random.choice((self.expression(), self.random.choice(ITERABLES), "{'k': [1, 2], 's': 2}"))
        return f"match {subject}:\n" + "\n".join(cases)

    def pattern(self, names: Iterator[str], depth: int) -> str:
        pick = self.random.choice
        name = next(names, "_")
        leaf = pick(
            (
                name,
                name,
                "_",
                "1",
                "'s'",
                "None",
                "-3",
                "int()",
                f"int({name})",
                "1 | 2 | 's'",
                "Box.n",
                f"(1 | 2) as {name}",
            )
        )
        if depth == 0:
            return leaf
        inner = self.pattern(names, depth - 1)
        return pick(
            (
                leaf,
                f"[{leaf}, {inner}]",
                f"({inner}, *_)",
                f"[*{name}]" if leaf.find(name) < 0 or leaf == "_" else f"[{leaf}]",
                f"{{'k': {inner}}}",
                f"{{'s': 2, **{name}}}",
                f"Box(n={inner})",
                f"[1, {name}] | [{name}, _] | {{'k': {name}}}",
            )
        )

    def define(self, place: Place) -> str:
        name = self.name()
        is_generator = self.random.random() < 0.3
        inner = Place(in_function=True, is_generator=is_generator, depth=place.depth - 1)
        declared = ""
        parameters = f"{self.name()}={self.expression()}"
        if self.random.random() < 0.3:
            candidates = [one for one in NAMES if one != parameters[0]]
            declared = f"    global {self.random.choice(candidates)}\n"
        elif place.in_function and self.random.random() < 0.3:
            other = self.random.choice([one for one in NAMES if one != parameters[0]])
            # `nonlocal` requires the name to be bound outside.
            return (
                f"{other} = {self.expression()}\ndef {name}({parameters}):\n    nonlocal {other}\n{self.block(inner)}\n"
                f"log(drain({name}()))"
            )
        decorator = "@wrap\n" if self.random.random() < 0.3 else ""
        start = "    yield 0\n" if is_generator else ""
        return f"{decorator}def {name}({parameters}, *rest, **more):\n{declared}{start}{self.block(inner)}\nlog(drain({name}()))"

    def class_(self, place: Place) -> str:
        name = self.name()
        body = self.block(Place(in_class=True, depth=place.depth - 1))
        method = textwrap.indent(self.block(Place(in_function=True, depth=place.depth - 1)), "    ")
        return (
            f"class {name}(Box):\n{body}\n    def m(self):\n        log((__class__.__name__, super().n, self.__p))\n{method}\n"
            f"    __p = {self.expression()}\nlog(drain({name}().m()))"
        )

    # --- expressions ---

    def name(self) -> str:
        return self.random.choice(NAMES)

    def target(self) -> str:
        return self.random.choice(
            (self.name(), self.name(), f"({self.name()}, *{self.name()})", f"[{self.name()}, {self.name()}]")
        )

    def iterable(self) -> str:
        return self.random.choice((*ITERABLES, *ITERABLES, self.name()))

    def expression(self, depth: int = 2) -> str:
        pick = self.random.choice
        if depth == 0 or self.random.random() < 0.3:
            return pick((self.name(), pick(ATOMS)))

        def e() -> str:
            return self.expression(depth - 1)

        forms = (
            lambda: f"log({e()})",
            lambda: f"({e()} {pick(BINARY)} {e()})",
            lambda: f"(not {e()})",
            lambda: f"({e()} {pick(('and', 'or'))} {e()} {pick(('and', 'or'))} {e()})",
            lambda: f"({e()} {pick(COMPARISONS)} {e()} {pick(COMPARISONS)} {e()})",
            lambda: f"({e()} if {e()} else {e()})",
            lambda: f"[{e()}, *{pick(ITERABLES)}]",
            lambda: f"({e()}, {e()})",
            lambda: f"{{'k': {e()}, **{{'s': {e()}}}}}",
            lambda: f"{self.iterable()}[{e()}]",
            lambda: f"{self.iterable()}[{e()}:]",
            lambda: f"(lambda {self.name()}={e()}: {e()})()",
            lambda: f"(lambda: {e()})()",
            lambda: f"gather({e()}, key={e()}, *{pick(ITERABLES)}, **{{'z': {e()}}})",
            lambda: f"Box.{pick(('n', 'missing'))}",
            lambda: f"f'{{type({self.name()}).__name__!r}}{{log(1):>{{log(4)}}}}'",
            lambda: self.comprehension(e),
        )
        return pick(forms)()

    def comprehension(self, e: Callable[[], str]) -> str:
        element = self.random.choice((e(), f"(lambda: {e()})()"))
        clauses = f"for {self.name()} in {self.iterable()}"
        if self.random.random() < 0.4:
            clauses += f" if {e()}"
        if self.random.random() < 0.4:
            clauses += f" for {self.name()} in {self.iterable()}"
        return self.random.choice(
            (f"[{element} {clauses}]", f"list({element} {clauses})", f"{{1: {element} {clauses}}}")
        )
