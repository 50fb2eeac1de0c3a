"""Operations of TensorFlow whose sizes follow from their arguments, as tables.

Computes: nothing. Gives: which operations have a first size that only a run tells, and which arguments say a size of the result.
"""

from __future__ import annotations

from typing import Final

FIRST_BY_CONTENT: Final = frozenset(
    {
        *("tensorflow.boolean_mask", "tensorflow.dynamic_partition", "tensorflow.image.non_max_suppression"),
        *("tensorflow.image.non_max_suppression_with_scores", "tensorflow.unique", "tensorflow.unique_with_counts"),
        *("tensorflow.math.segment_sum", "tensorflow.math.segment_mean", "tensorflow.math.segment_max"),
        *("tensorflow.math.segment_min", "tensorflow.math.segment_prod"),
    }
)
"""Operations of which the first size of the result is never known to a graph."""
IMAGES: Final = frozenset(
    {
        "tensorflow.io.decode_png",
        "tensorflow.io.decode_jpeg",
        "tensorflow.io.decode_bmp",
        "tensorflow.io.decode_and_crop_jpeg",
    }
)
"""Operations that read a picture, whose height and width only the file tells."""
SPARSE_BY_CONTENT: Final = frozenset(
    {
        *("tensorflow.sparse.from_dense", "tensorflow.sparse.retain", "tensorflow.sparse.slice"),
        *("tensorflow.sets.difference", "tensorflow.sets.intersection", "tensorflow.sets.union"),
    }
)
"""Operations that give a sparse tensor of as many values as the content says."""
SHAPES: Final = {
    **dict.fromkeys(("tensorflow.zeros", "tensorflow.ones", "tensorflow.reshape", "tensorflow.broadcast_to"), "shape"),
    **dict.fromkeys(
        (f"tensorflow.random.{name}" for name in ("normal", "uniform", "truncated_normal", "gamma")), "shape"
    ),
    **dict.fromkeys(
        (f"tensorflow.random.stateless_{name}" for name in ("normal", "uniform", "truncated_normal")), "shape"
    ),
    "tensorflow.scatter_nd": "shape",
    "tensorflow.fill": "dims",
    "tensorflow.slice": "size",
}
"""Operations whose result has the shape that an argument says, a size an element."""
REPEATS: Final = {"tensorflow.tile": "multiples", "tensorflow.pad": "paddings"}
"""Operations that keep the axes of their first argument, and change each by an element of another one."""
SIZES: Final = {
    "tensorflow.range": (0, ("start", "limit", "delta")),
    "tensorflow.linspace": (0, ("num",)),
    "tensorflow.eye": (0, ("num_rows",)),
    "tensorflow.one_hot": (-1, ("depth",)),
    "tensorflow.sequence_mask": (-1, ("maxlen",)),
    "tensorflow.math.top_k": (-1, ("k",)),
    "tensorflow.signal.frame": (-1, ("frame_length",)),
    "tensorflow.math.unsorted_segment_sum": (0, ("num_segments",)),
    "tensorflow.math.unsorted_segment_mean": (0, ("num_segments",)),
    "tensorflow.math.unsorted_segment_max": (0, ("num_segments",)),
}
"""Operations of which one size of the result is what arguments say."""
SAME_CONTENT: Final = frozenset(
    {
        "tensorflow.zeros_like",
        "tensorflow.ones_like",
        "tensorflow.zeros",
        "tensorflow.ones",
        "tensorflow.constant",
        "tensorflow.rank",
    }
)
"""Operations whose content follows from shapes and from what is written there."""
CONVERSIONS: Final = frozenset(
    {"tensorflow.convert_to_tensor", "tensorflow.cast", "tensorflow.identity", "tensorflow.stack"}
)
ELEMENT_WISE: Final = frozenset(
    {
        *("tensorflow.math.add", "tensorflow.math.subtract", "tensorflow.math.multiply", "tensorflow.math.divide"),
        *(
            "tensorflow.math.maximum",
            "tensorflow.math.minimum",
            "tensorflow.math.pow",
            "tensorflow.math.squared_difference",
        ),
        *(
            "tensorflow.math.equal",
            "tensorflow.math.not_equal",
            "tensorflow.math.greater",
            "tensorflow.math.greater_equal",
        ),
        *(
            "tensorflow.math.less",
            "tensorflow.math.less_equal",
            "tensorflow.math.logical_and",
            "tensorflow.math.logical_or",
        ),
        *(
            "tensorflow.math.floordiv",
            "tensorflow.math.floormod",
            "tensorflow.math.divide_no_nan",
            "tensorflow.math.atan2",
        ),
    }
)
"""Operations of two tensors, element by element."""
