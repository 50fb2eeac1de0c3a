"""Values that may be fed to a tensor of a graph. Source: `tf.compat.v1.Session.run` (`Cannot feed value of shape ...`)."""

from __future__ import annotations

from terra_refactor.domain.dim import definitely_different, format_dim
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.tf_model.spec import ErrorKind, OperationError


def check_feed(declared: Shape, fed: Shape, name: str) -> None:
    """Raises OperationError if a value of shape `fed` certainly does not fit the tensor named `name` in the message."""
    if declared is None or fed is None:
        return
    what = f"a value of shape {format_shape(fed)} is fed to {name}, which has shape {format_shape(declared)}"
    if len(declared) != len(fed):
        raise OperationError(ErrorKind.RANK, f"{what}: rank {len(fed)} instead of {len(declared)}", ("feed_dict",))
    for axis, (wanted, given) in enumerate(zip(declared, fed, strict=True)):
        if definitely_different(wanted, given):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{what}: axis {axis} is {format_dim(given)} instead of {format_dim(wanted)}",
                ("feed_dict",),
            )
