"""The generated table of operands that a graph converts in order speaks of functions and parameters that there are."""

from __future__ import annotations

from terra_refactor.tf_model import registry
from terra_refactor.tf_model.operand_orders import ORDERS, operand_orders


def test_rows_name_functions_and_parameters() -> None:
    for name, pairs in ORDERS.items():
        entity = registry.lookup(name)
        assert entity is not None and registry.canonical_name(name) == name, name
        names = {parameter.name for parameter in entity.parameters or ()}
        assert pairs and all({*pair} <= names and pair[0] != pair[1] for pair in pairs), name


def test_operands_in_order() -> None:
    assert operand_orders("tensorflow.math.maximum") == (("x", "y"),)
    assert operand_orders("tensorflow.where") == (("x", "y"),)
    assert operand_orders("tensorflow.linalg.solve") == (("matrix", "rhs"),)
    assert operand_orders("tensorflow.pad") == (("tensor", "constant_values"),)
    assert ("tensor", "updates") in operand_orders("tensorflow.tensor_scatter_nd_update")
    assert operand_orders("tensorflow.concat") == ()
    assert operand_orders("tensorflow.math.add") == ()
