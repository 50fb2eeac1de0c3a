"""The position of a decorator among others.

Computes: the position of a new decorator among the existing ones, or the reason why there is none. Needs: the
qualified names of those. Gives: an offset. Ignores: the effect of an unknown decorator; the new one is placed below
it, where it receives the plain function.

`staticmethod`, `classmethod` and `property` must stay above, since they do not return a function. A few decorators of
TensorFlow must stay below: a `tf.custom_gradient` function returns its gradient function, which no `tf.function` can
return. `functools.wraps` works neither above nor below: below it, it copies the attributes of the wrapped
`tf.function` over the new one, which then runs the wrong function (observed with TensorFlow 2.21); above it,
TensorFlow reads the wrapped function's signature instead of the wrapper's.
"""

from __future__ import annotations

import libcst as cst

from terra_refactor.refactor.locate import DecoratorSite, DefinitionSite
from terra_refactor.refactor.names import ModuleNames, dotted_name
from terra_refactor.refactor.transforms.context import NotMade

CO_EXECUTE = "terra_refactor.runtime.co_execute"

_STAYS_BELOW = frozenset(
    {
        "tensorflow.custom_gradient",
        "tensorflow.recompute_grad",
        "tensorflow.autograph.experimental.do_not_convert",
        "tensorflow.autograph.experimental.set_loop_options",
    }
)
_FITS_NOWHERE = {
    "functools.wraps": "`functools.wraps` would copy the wrapped function over the new `tf.function`",
    "contextlib.contextmanager": "a context manager is a generator, which a graph cannot be",
    "contextlib.asynccontextmanager": "a context manager is a generator, which a graph cannot be",
    "typing.overload": "an overload is only a signature",
    "abc.abstractmethod": "an abstract method is not called itself",
    "abc.abstractproperty": "an abstract property is not called itself",
}


def decorator_name(names: ModuleNames, site: DefinitionSite, decorator: DecoratorSite) -> str | None:
    """The qualified name of a decorator: of `f` in `@f`, `@f(...)` and `@functools.partial(f, ...)`; None if imports do
    not determine it.
    """
    expression: cst.BaseExpression = decorator.node.decorator
    if isinstance(expression, cst.Call):
        name = names.resolve(expression.func, site.enclosing)
        if name == "functools.partial" and expression.args:
            return names.resolve(expression.args[0].value, site.enclosing)
        return name
    return names.resolve(expression, site.enclosing) or dotted_name(expression)


def decorators_named(names: ModuleNames, site: DefinitionSite, wanted: str) -> tuple[DecoratorSite, ...]:
    """The decorators of a definition whose names are in `wanted`, from the top."""
    return tuple(decorator for decorator in site.decorators if decorator_name(names, site, decorator) == wanted)


def place_for_decorator(names: ModuleNames, site: DefinitionSite) -> int | NotMade:
    """Offset of the line before which the new decorator is inserted."""
    if site.node.asynchronous is not None:
        return NotMade("`async def` creates a coroutine, which a graph cannot be")
    if not site.placeable:
        return NotMade("other code precedes `def` on its line")
    below: DecoratorSite | None = None
    for decorator in site.decorators:
        name = decorator_name(names, site, decorator)
        if name in _FITS_NOWHERE:
            return NotMade(_FITS_NOWHERE[name])
        if name in _STAYS_BELOW:
            below = below or decorator
        elif below is not None:
            text = cst.Module([]).code_for_node(decorator.node.decorator)
            return NotMade(
                f"`@{text}` stands below `@{decorator_text(below)}`, whose effect on the function is unknown"
            )
    return below.line_start if below is not None else site.line_start


def decorator_text(decorator: DecoratorSite) -> str:
    """The decorator's expression on one line."""
    return " ".join(cst.Module([]).code_for_node(decorator.node.decorator).split())
