"""Functions whose operands must have one dtype, which a graph determines by converting them in order.

Computes: nothing. Gives: `operand_orders`. In eager code a non-tensor operand takes the dtype of the tensors among
the operands, in any order. A graph converts one operand after the other: a number that comes first gets its default
dtype (float32, int32), and a later tensor of another dtype is an error. Operators (`1. - x`) are not affected: they
convert the number to the tensor's dtype first.

Each row was observed to work eagerly and to raise in a graph: tools/find_operand_orders.py, with TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ROWS: Final = """
keras.activations.threshold: x threshold, x default_value, threshold default_value
keras.ops.threshold: x threshold, x default_value, threshold default_value
tensorflow.bitwise.bitwise_and: x y
tensorflow.bitwise.bitwise_or: x y
tensorflow.bitwise.bitwise_xor: x y
tensorflow.bitwise.left_shift: x y
tensorflow.bitwise.right_shift: x y
tensorflow.broadcast_dynamic_shape: shape_x shape_y
tensorflow.compat.v1.floor_div: x y
tensorflow.compat.v1.substr: pos len
tensorflow.compat.v1.where: x y
tensorflow.linalg.banded_triangular_solve: bands rhs
tensorflow.linalg.cholesky_solve: chol rhs
tensorflow.linalg.cross: a b
tensorflow.linalg.solve: matrix rhs
tensorflow.linalg.triangular_solve: matrix rhs
tensorflow.math.atan2: y x
tensorflow.math.betainc: a b, a x
tensorflow.math.equal: x y
tensorflow.math.floordiv: x y
tensorflow.math.floormod: x y
tensorflow.math.greater: x y
tensorflow.math.greater_equal: x y
tensorflow.math.igamma: a x
tensorflow.math.igammac: a x
tensorflow.math.less: x y
tensorflow.math.less_equal: x y
tensorflow.math.maximum: x y
tensorflow.math.minimum: x y
tensorflow.math.multiply: x y
tensorflow.math.nextafter: x1 x2
tensorflow.math.not_equal: x y
tensorflow.math.polygamma: a x
tensorflow.math.pow: x y
tensorflow.math.squared_difference: x y
tensorflow.math.subtract: x y
tensorflow.math.xdivy: x y
tensorflow.math.xlog1py: x y
tensorflow.math.xlogy: x y
tensorflow.math.zeta: x q
tensorflow.nn.bias_add: value bias
tensorflow.nn.normalize_moments: mean_ss variance_ss, mean_ss shift, variance_ss shift
tensorflow.pad: tensor constant_values
tensorflow.realdiv: x y
tensorflow.tensor_scatter_nd_add: tensor updates
tensorflow.tensor_scatter_nd_max: tensor updates
tensorflow.tensor_scatter_nd_min: tensor updates
tensorflow.tensor_scatter_nd_sub: tensor updates
tensorflow.tensor_scatter_nd_update: tensor updates
tensorflow.truncatediv: x y
tensorflow.truncatemod: x y
tensorflow.where: x y
"""

ORDERS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    name: tuple((first, second) for first, second in (pair.split() for pair in pairs.split(",")))
    for name, _, pairs in (row.partition(":") for row in _ROWS.strip().splitlines())
}
"""The pairs of each function, by its canonical name."""


def operand_orders(name: str) -> tuple[tuple[str, str], ...]:
    """Pairs of parameters of a function, by its canonical name: the first one determines the dtype of the second."""
    return ORDERS.get(name, ())
