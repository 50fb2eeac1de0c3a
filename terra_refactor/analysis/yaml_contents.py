"""The tree of a YAML text by PyYAML's safe loader, with limits against hostile texts.

Gives: `yaml_tree`. Imported only if a program names such a file: importing PyYAML takes 20 ms. A text is first parsed
to events, which builds no objects and stops at the first exceeded limit, so neither deep nesting, nor multiplying
aliases ("billion laughs", also through merge keys), nor endless numbers are ever built. The safe loader has no tag
that creates Python objects.
"""

from __future__ import annotations

from typing import Final

import yaml

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_TEXT: Final = 200_000
_MAX_DEPTH: Final = 40
_MAX_NODES: Final = 50_000
"""Maximum number of nodes of the tree as a program traverses it: the target of an alias counts each time."""
_MAX_PLAIN: Final = 1_000
"""Maximum length of a value without quotes or with a tag, which may be a number."""


def yaml_tree(text: str) -> object:
    """The single document of a text, as `yaml.safe_load` returns it.

    Raises:
        ValueError: it is malformed, has several documents or an unknown tag, or exceeds a limit.
    """
    try:
        _check(text)
        tree: object = yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError) as error:
        # the last four: raised by PyYAML's constructors for a value that does not match its tag (`!!int ""`)
        raise ValueError(f"no YAML: {error}") from None
    return tree


def _check(text: str) -> None:
    if len(text) > _MAX_TEXT:
        raise ValueError("a YAML text that is too long")
    sizes: dict[str, int] = {}
    """Number of nodes of each anchor's value, once it is complete."""
    opened: list[tuple[str | None, int]] = []
    """The open collections around an event: anchor, and the number of nodes before it."""
    count = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            opened.append((event.anchor, count))
            count += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                sizes[anchor] = count - before
        elif isinstance(event, yaml.ScalarEvent):
            if (not event.style or event.tag is not None) and len(event.value) > _MAX_PLAIN:
                raise ValueError("a number that is too long")
            count += 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            # an anchor around its own alias has no size yet: the value would contain itself
            if event.anchor not in sizes:
                raise ValueError("an alias of nothing")
            count += sizes[event.anchor]
        if len(opened) > _MAX_DEPTH or count > _MAX_NODES:
            raise ValueError("a YAML text that is nested too deeply, or too large with its aliases")
