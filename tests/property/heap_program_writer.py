"""Writes random programs about objects that lead to each other, whose values a test can compare with the abstract ones.

Computes: a text from a `random.Random`. Functions go along fields (`x.a.b`), change what they reach, return objects that they find, call
each other, and themselves a few times. Callers link objects in different ways, two names for one object among them, and pass them: a
summary of one call meets other heaps, some of the same form. `mark(n, value)` says that the value is to be compared. Every program ends.
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
        """One that takes two objects and how deep it may still call itself."""
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
        """An object, by a name and fields that lead from it on; now and then one that the module holds."""
        start = "kept" if self.random.random() < 0.06 else self.random.choice(names)
        return ".".join([start, *self.random.choices("ab", k=self.random.choice((0, 0, 1, 1, 2)))])

    def new_name(self) -> str:
        self.fresh += 1
        return f"z{self.fresh}"

    def mark(self, expression: str) -> str:
        self.marks += 1
        return f"mark({self.marks}, {expression})"
