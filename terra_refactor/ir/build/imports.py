"""Import statements.

Computes: nothing beyond the lowering. `import a.b` binds `a`, `import a.b as c` binds the whole of `a.b`.
"""

from __future__ import annotations

import libcst as cst

from terra_refactor.ir.build.builder import FunctionBuilder
from terra_refactor.ir.ops import Import, ImportFrom, ImportStar


def lower_import(b: FunctionBuilder, node: cst.Import) -> None:
    for alias in node.names:
        module = name_of_attributes(alias.name)
        target = _target(alias)
        op_id = b.new_id(alias)
        b.ops.append(Import(op_id, module, whole=target is not None))
        if target is not None:
            b.store(target, b.mangled(target.value), op_id)
        else:
            b.store(alias, b.mangled(module.partition(".")[0]), op_id)


def lower_import_from(b: FunctionBuilder, node: cst.ImportFrom) -> None:
    module = name_of_attributes(node.module) if node.module is not None else ""
    level = len(node.relative)
    if isinstance(node.names, cst.ImportStar):
        b.ops.append(ImportStar(b.new_id(node), module, level))
        return
    for alias in node.names:
        name = name_of_attributes(alias.name)
        if module == "__future__" and name == "annotations":
            b.module.lazy_annotations = True
        target = _target(alias)
        op_id = b.new_id(alias)
        b.ops.append(ImportFrom(op_id, module, level, b.mangled(name)))
        b.store(target if target is not None else alias, b.mangled(target.value if target is not None else name), op_id)


def name_of_attributes(node: cst.BaseExpression) -> str:
    """The dotted name `a.b.c` of nested attributes."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    assert isinstance(node, cst.Name)
    parts.append(node.value)
    return ".".join(reversed(parts))


def _target(alias: cst.ImportAlias) -> cst.Name | None:
    if alias.asname is None:
        return None
    assert isinstance(alias.asname.name, cst.Name)
    return alias.asname.name
