"""Keras's functions other than layers: initializers, activations, regularizers, random numbers, utilities, datasets,
applications.

Computes: output types. Gives: `RULES`.

Source: `keras.datasets` (the arrays as they are distributed), `keras.utils`, `keras.initializers`, `keras.activations`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from terra_refactor.domain.dim import Dim, Why, eager
from terra_refactor.domain.dtype import FLOAT32, FLOAT64, FLOATING, INT32, INT64, STRING, UINT8, DType
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import with_first_open
from terra_refactor.domain.value import (
    NONE,
    NOT_A_TENSOR,
    UNKNOWN,
    UNKNOWN_BOOL,
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    PythonType,
    Reference,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.data.batching import METHODS as BATCHING
from terra_refactor.tf_model.keras.layer_call import output_kind
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _array(dtype: DType | None, shape: Shape) -> Value:
    return TensorValue(TensorType(dtype, shape), TensorKind.NDARRAY)


def _constant(value: Value) -> OperationRule:
    return lambda call: value


def _dtype(value: Value | None, default: DType | None = FLOAT32) -> DType | None:
    return default if read.is_none(value) else read.dtype_argument(value)


# --- initializers, activations, regularizers, random -----------------------------------------------------------------------------


def _initializer(call: BoundCall) -> Value:
    """`initializer(shape, dtype=None)`: a tensor of that shape."""
    shape = read.shape_argument(read.method_argument(call, "shape", 0))
    return read.tensor(_dtype(read.method_argument(call, "dtype", 1)), shape)


def _activation(call: BoundCall) -> Value:
    """Element-wise on floating-point tensors; for integers the dtype of the result differs."""
    value = read.first_of(call, "x")
    given = read.converted_type(value)
    return read.tensor(given.dtype if given.dtype in FLOATING else None, given.shape, output_kind(value))


def _glu(call: BoundCall) -> Value:
    given = read.converted_type(read.first_of(call, "x"))
    return read.tensor(given.dtype if given.dtype in FLOATING else None, None, output_kind(read.first_of(call, "x")))


def _penalty(call: BoundCall) -> Value:
    """A regularizer called on a weight: a scalar of its dtype."""
    given = read.converted_type(read.first_of(call, "x"))
    return read.tensor(given.dtype if given.dtype in FLOATING else None, ())


def _constrained(call: BoundCall) -> Value:
    given = read.converted_type(read.first_of(call, "w"))
    return read.tensor(given.dtype, given.shape)


def _random(call: BoundCall) -> Value:
    """`keras.random.normal(shape, ..., dtype=None)`."""
    return read.tensor(_dtype(call.argument("dtype")), read.shape_argument(call.argument("shape")))


def _random_integers(call: BoundCall) -> Value:
    return read.tensor(_dtype(call.argument("dtype"), INT32), read.shape_argument(call.argument("shape")))


def _same_type(call: BoundCall) -> Value:
    value = read.first_of(call, "inputs", "x")
    given = read.converted_type(value)
    return read.tensor(given.dtype, given.shape, output_kind(value))


# --- utilities -------------------------------------------------------------------------------------------------------------------


def _to_categorical(call: BoundCall) -> Value:
    """One-hot rows as an ndarray of float64 (Keras 3; float32 in `tf_keras`); a trailing axis of size 1 is dropped."""
    value = call.argument("x") or call.argument("y")
    shape = read.converted_type(value, numpy=True).shape
    classes = call.argument("num_classes")
    depth: Dim = None if read.is_none(classes) else read.size(classes)
    if shape is None:
        result: Shape = None
    elif len(shape) > 1 and not isinstance(shape[-1], int):
        result = None
    else:
        rows = shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape
        result = (*rows, depth)
    if isinstance(value, TensorValue) and value.kind not in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR):
        return UNKNOWN  # Keras 3 gives a float32 tensor for a tensor
    return _array(FLOAT64, result)


def _pad_sequences(call: BoundCall) -> Value:
    """`pad_sequences(sequences, maxlen, dtype="int32")`: (number of sequences, maxlen)."""
    dtype_value = call.argument("dtype")
    dtype = INT32 if dtype_value is None else read.dtype_argument(dtype_value)
    sequences = call.argument("sequences")
    count: Dim = None
    items = read.elements(sequences)
    if items is not None:
        count = len(items)
    elif isinstance(sequences, FrozenList) and sequences.element is not None:
        items, count = members(sequences.element), sequences.length
    elif isinstance(sequences, TensorValue) and sequences.type.shape:
        count = sequences.type.shape[0]
    else:
        return _array(dtype, None)
    longest = call.argument("maxlen")
    # sequences of vectors add axes
    if items is None or not all(map(_is_of_numbers, items)):
        return _array(dtype, None)
    if not read.is_none(longest):
        return _array(dtype, (count, read.size(longest)))
    lengths = [_length(item) for item in items] if read.elements(sequences) is not None else []
    known = [length for length in lengths if isinstance(length, int)]
    return _array(dtype, (count, max(known) if known and len(known) == len(lengths) else None))


def _length(sequence: Value) -> Dim:
    """The number of elements of a sequence."""
    found = read.elements(sequence)
    if found is not None:
        return len(found)
    match sequence:
        case TensorValue(type=TensorType(shape=(size, *_))):
            return size
        case FrozenList(length=length):
            return length
        case _:
            return None


def _is_of_numbers(sequence: Value) -> bool:
    """Whether a sequence certainly contains single numbers."""
    if isinstance(sequence, TensorValue):
        return sequence.type.shape is not None and len(sequence.type.shape) == 1
    found = read.elements(sequence)
    if found is None and isinstance(sequence, FrozenList) and sequence.element is not None:
        # of unknown length, but each element is one of these
        found = members(sequence.element)
    return found is not None and all(isinstance(item, Constant | Scalar) for item in found)


def _image(result: Value) -> OperationRule:
    """`array_to_img(x)` and `save_img(path, x)`, which take one image (height, width, channels)."""

    def rule(call: BoundCall) -> Value:
        _require_image(call, "x", (3,))
        return result

    return rule


def _require_image(call: BoundCall, name: str, ranks: tuple[int, ...]) -> None:
    """Raises OperationError if the argument certainly is an array of another rank."""
    value = call.argument(name)
    shape = value.type.shape if isinstance(value, TensorValue) else None
    if shape is not None and len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise OperationError(
            ErrorKind.RANK,
            f"{call.name.rpartition('.')[2]}: an image of shape {format_shape(shape)} has rank {len(shape)}, not {wanted}",
            (name,),
        )


def _image_array(call: BoundCall) -> Value:
    """`img_to_array(img)`: height, width, channels."""
    _require_image(call, "img", (2, 3))
    dtype_value = call.argument("dtype")
    return _array(FLOAT32 if read.is_none(dtype_value) else read.dtype_argument(dtype_value), (None, None, None))


def _normalize(call: BoundCall) -> Value:
    """`keras.utils.normalize(x, axis, order)`."""
    value = call.argument("x")
    given = read.converted_type(value, numpy=True)
    if not (isinstance(value, TensorValue) and value.kind is TensorKind.NDARRAY):
        return UNKNOWN
    return _array(given.dtype if given.dtype in FLOATING else None, given.shape)


def _labels(mode: Value | None, batch: Dim, names: Value | None) -> Value | None:
    """The labels of a directory dataset; None if there are none, `UNKNOWN` if it is unknown."""
    if mode is not None and read.is_none(mode):
        return None
    match "int" if mode is None else read.text(mode):
        case "int":
            return read.tensor(INT32, (batch,) if batch is not None else None)
        case "binary":
            return read.tensor(FLOAT32, (batch, 1))
        case "categorical":
            listed = read.elements(names)
            return read.tensor(FLOAT32, (None, None if listed is None else len(listed)))
        case _:
            return UNKNOWN


def _directory_dataset(call: BoundCall, sample: Value) -> Value:
    """Batches of samples and labels: `(samples, labels)`, or only the samples; two datasets for a split into both subsets."""
    batch_value = call.argument("batch_size")
    if batch_value is not None and read.is_none(batch_value):
        return UNKNOWN
    labels_value = call.argument("labels")
    mode = call.argument("label_mode")
    if labels_value is not None and read.is_none(labels_value):
        mode = NONE
    labels = _labels(mode, None, call.argument("class_names"))
    if isinstance(labels, TensorValue) and labels.type.dtype == INT32:
        labels = read.tensor(INT32, (None,))
    dataset = DatasetValue(_batches(sample if labels is None else TupleValue((sample, labels))))
    subset = call.argument("subset")
    if subset is None or read.is_none(subset):
        return dataset
    known = read.text(subset)
    if known is None:
        return UNKNOWN
    return TupleValue((dataset, dataset)) if known == "both" else dataset


def _image_dataset(call: BoundCall) -> Value:
    layout = call.argument("data_format")
    if not read.is_none(layout) and read.text(layout) != "channels_last":
        return UNKNOWN
    size_value = call.argument("image_size")
    size = (256, 256) if size_value is None else read.size_tuple(size_value, 2)
    colors = call.argument("color_mode")
    channels = {"rgb": 3, "rgba": 4, "grayscale": 1}.get("rgb" if colors is None else read.text(colors) or "")
    return _directory_dataset(call, read.tensor(FLOAT32, (None, size[0], size[1], channels)))


def _text_dataset(call: BoundCall) -> Value:
    return _directory_dataset(call, read.tensor(STRING, (None,)))


def _timeseries(call: BoundCall) -> Value:
    """Batches of windows of an array, with targets if there are any."""
    data = read.converted_type(call.argument("data"), numpy=True)
    # `element_spec` does not know the window's axis, but it is fixed: no window is shorter
    length = read.integer(call.argument("sequence_length"))
    window = read.tensor(data.dtype, None if data.shape is None else (length, *data.shape[1:]))
    rows = data.shape[0] if data.shape else None
    targets = call.argument("targets")
    if read.is_none(targets):
        windows = DatasetValue(window, _number_of_windows(call, rows, None))
    else:
        target = read.converted_type(targets, numpy=True)
        expected = read.tensor(target.dtype, None if target.shape is None else target.shape[1:])
        number = _number_of_windows(call, rows, target.shape[0] if target.shape else None)
        windows = DatasetValue(TupleValue((window, expected)), number)
    size = call.argument("batch_size")
    if size is not None and read.is_none(size):
        return windows
    return BATCHING["batch"](BoundCall(call.name, {} if size is None else {"batch_size": size}), windows)


def _number_of_windows(call: BoundCall, rows: Dim, targets: Dim) -> int | None:
    """The number of windows that begin at least one window's length before the end, and for which there are targets."""
    limits = [call.argument("start_index"), call.argument("end_index")]
    first, end = (
        default if read.is_none(limit) else read.known_integer(limit)
        for limit, default in zip(limits, (0, eager(rows)), strict=True)
    )
    settings = ("sequence_length", "sampling_rate", "sequence_stride")
    length, rate, stride = (read.known_integer(call.argument(name)) for name in settings)
    if not isinstance(first, int) or not isinstance(end, int) or length is None or not rate or not stride:
        return None
    number = end - first - (length - 1) * rate
    if not read.is_none(call.argument("targets")):
        own = eager(targets)
        if not isinstance(own, int):
            return None
        number = min(number, own)
    return max(0, -(-number // stride))


def _batches(element: Value) -> Value:
    """Batches, of which the last may be smaller."""
    return with_first_open(element, EVERYWHERE, Why.BATCH)


# --- datasets -------------------------------------------------------------------------------------------------------------------


def _data_set(train: tuple[Value, Value], test: tuple[Value, Value]) -> OperationRule:
    return _constant(TupleValue((TupleValue(train), TupleValue(test))))


def _images(
    count: int, shape: Sequence[int], labels: tuple[int, ...], dtype: DType | None = UINT8
) -> tuple[Value, Value]:
    return _array(UINT8, (count, *shape)), _array(dtype, (count, *labels))


_OBJECTS: Final = TensorValue(TensorType(None, None), TensorKind.NDARRAY)
"""An array of lists: its elements are lists, which may be indexed further, so the array's own axes do not limit the indices."""


def _housing(call: BoundCall) -> Value:
    """Boston housing: 506 rows of 13 features, split by `test_split`."""
    split = call.argument("test_split")
    share = 0.2 if split is None else read.number(split)
    train: Dim = None if share is None else int(506 * (1 - share))
    test: Dim = 506 - train if isinstance(train, int) else None
    return TupleValue(
        (
            TupleValue((_array(FLOAT64, (train, 13)), _array(FLOAT64, (train,)))),
            TupleValue((_array(FLOAT64, (test, 13)), _array(FLOAT64, (test,)))),
        )
    )


# --- applications ----------------------------------------------------------------------------------------------------------------


def _decoded(call: BoundCall) -> Value:
    """`decode_predictions`: for each sample a list of (id, name, score)."""
    return FrozenList(None, FrozenList(None, TupleValue((Scalar(PythonType.STR), Scalar(PythonType.STR), UNKNOWN))))


def _preprocessed(call: BoundCall) -> Value:
    """`preprocess_input(x)`: same shape; float32 for images of integers."""
    value = call.argument("x")
    given = read.converted_type(value)
    dtype = given.dtype if given.dtype in FLOATING else None
    if isinstance(value, TensorValue) and value.kind is TensorKind.NDARRAY:
        return _array(FLOAT32 if dtype is None and given.dtype is not None else dtype, given.shape)
    return read.tensor(dtype, given.shape, output_kind(value))


_APPLICATION_MODULES: Final = (
    "convnext densenet efficientnet efficientnet_v2 inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 mobilenet_v3 nasnet "
    "resnet resnet_v2 vgg16 vgg19 xception imagenet_utils"
)
_INITIALIZERS: Final = (
    "Zeros Ones Constant RandomNormal RandomUniform TruncatedNormal VarianceScaling GlorotNormal GlorotUniform HeNormal HeUniform "
    "LecunNormal LecunUniform Orthogonal Identity"
)
_ACTIVATIONS: Final = (
    "relu relu6 sigmoid tanh softmax softplus softsign selu elu exponential linear leaky_relu gelu silu mish hard_sigmoid "
    "hard_silu log_softmax log_sigmoid celu hard_shrink hard_tanh soft_shrink squareplus tanh_shrink threshold "
    "sparse_plus sparsemax"
)
_NO_TENSORS: Final = (
    "keras.utils.set_random_seed",
    "keras.utils.clear_session",
    "keras.config.set_dtype_policy",
    "keras.config.set_floatx",
    "keras.config.set_epsilon",
    "keras.config.set_image_data_format",
    "keras.utils.plot_model",
)
_PYTHON_RESULTS: Final[Mapping[str, Value]] = {
    "keras.config.epsilon": Scalar(PythonType.FLOAT),
    "keras.config.floatx": Scalar(PythonType.STR),
    # under another backend there are no TensorFlow graphs
    "keras.config.backend": Constant("tensorflow"),
    "keras.config.image_data_format": Scalar(PythonType.STR),
    "keras.utils.is_keras_tensor": UNKNOWN_BOOL,
    "keras.utils.get_file": Scalar(PythonType.STR),
    "keras.saving.get_custom_objects": NOT_A_TENSOR,
    "keras.saving.serialize_keras_object": NOT_A_TENSOR,
    "keras.utils.load_img": NOT_A_TENSOR,
    "keras.layers.serialize": NOT_A_TENSOR,
    "keras.initializers.serialize": NOT_A_TENSOR,
    "keras.regularizers.serialize": NOT_A_TENSOR,
    "keras.constraints.serialize": NOT_A_TENSOR,
    "keras.activations.serialize": NOT_A_TENSOR,
    "keras.optimizers.serialize": NOT_A_TENSOR,
    "keras.losses.serialize": NOT_A_TENSOR,
    "keras.metrics.serialize": NOT_A_TENSOR,
}


_OBJECT_MAKERS: Final = (
    "keras.saving.load_model",
    "keras.saving.deserialize_keras_object",
    "keras.config.dtype_policy",
    "keras.layers.deserialize",
    "keras.models.clone_model",
    "keras.initializers.deserialize",
    "keras.regularizers.deserialize",
    "keras.constraints.deserialize",
    "keras.optimizers.deserialize",
    "keras.metrics.deserialize",
    "keras.losses.deserialize",
)
"""Functions that create objects other than tensors, of an unknown class."""


def _get(call: BoundCall) -> Value:
    """`keras.initializers.get(identifier)` and similar functions: None and objects are returned unchanged."""
    value = read.first_of(call, "identifier")
    if isinstance(value, Reference | FunctionValue | LibraryValue) or (value is not None and read.is_none(value)):
        return value
    return NOT_A_TENSOR


def _get_activation(call: BoundCall) -> Value:
    """`keras.activations.get(identifier)`: the function of that name, `linear` for None."""
    value = read.first_of(call, "identifier")
    if value is not None and read.is_none(value):
        return LibraryValue("keras.activations.linear")
    name = read.text(value)
    if name in _ACTIVATIONS.split():
        return LibraryValue(f"keras.activations.{name}")
    return value if isinstance(value, Reference | FunctionValue | LibraryValue) else NOT_A_TENSOR


def _split_dataset(call: BoundCall) -> Value:
    """`keras.utils.split_dataset`: two datasets of the same elements."""
    data = call.argument("dataset")
    if isinstance(data, DatasetValue):
        part = DatasetValue(data.element)
        return TupleValue((part, part))
    return UNKNOWN


RULES: Final[Mapping[str, OperationRule]] = {
    **{f"keras.initializers.{name}.__call__": _initializer for name in _INITIALIZERS.split()},
    **{
        f"tensorflow.{name}_initializer.__call__": _initializer
        for name in ("constant", "ones", "random_normal", "random_uniform", "zeros")
    },
    **{f"keras.activations.{name}": _activation for name in _ACTIVATIONS.split()},
    "keras.activations.glu": _glu,
    **{f"keras.regularizers.{name}.__call__": _penalty for name in ("L1", "L2", "L1L2", "OrthogonalRegularizer")},
    **{f"keras.constraints.{name}.__call__": _constrained for name in ("NonNeg", "MaxNorm", "UnitNorm", "MinMaxNorm")},
    **{f"keras.random.{name}": _random for name in ("normal", "uniform", "truncated_normal")},
    "keras.random.randint": _random_integers,
    "keras.random.dropout": _same_type,
    "keras.random.shuffle": _same_type,
    "keras.utils.to_categorical": _to_categorical,
    "keras.utils.pad_sequences": _pad_sequences,
    "keras.utils.img_to_array": _image_array,
    "keras.utils.array_to_img": _image(NOT_A_TENSOR),
    "keras.utils.save_img": _image(NONE),
    "keras.utils.normalize": _normalize,
    "keras.utils.image_dataset_from_directory": _image_dataset,
    "keras.utils.text_dataset_from_directory": _text_dataset,
    "keras.utils.timeseries_dataset_from_array": _timeseries,
    "keras.utils.split_dataset": _split_dataset,
    "keras.datasets.mnist.load_data": _data_set(_images(60000, (28, 28), ()), _images(10000, (28, 28), ())),
    "keras.datasets.fashion_mnist.load_data": _data_set(_images(60000, (28, 28), ()), _images(10000, (28, 28), ())),
    "keras.datasets.cifar10.load_data": _data_set(_images(50000, (32, 32, 3), (1,)), _images(10000, (32, 32, 3), (1,))),
    "keras.datasets.cifar100.load_data": _data_set(
        _images(50000, (32, 32, 3), (1,), INT64), _images(10000, (32, 32, 3), (1,), INT64)
    ),
    "keras.datasets.boston_housing.load_data": _housing,
    "keras.datasets.california_housing.load_data": _constant(
        TupleValue((TupleValue((_array(FLOAT32, (None, 8)), _array(FLOAT32, (None,)))),) * 2)
    ),
    "keras.datasets.imdb.load_data": _data_set((_OBJECTS, _array(INT64, (None,))), (_OBJECTS, _array(INT64, (None,)))),
    "keras.datasets.reuters.load_data": _data_set(
        (_OBJECTS, _array(INT64, (None,))), (_OBJECTS, _array(INT64, (None,)))
    ),
    "keras.datasets.imdb.get_word_index": _constant(FrozenDict((), Scalar(PythonType.INT))),
    "keras.datasets.reuters.get_word_index": _constant(FrozenDict((), Scalar(PythonType.INT))),
    **{f"keras.applications.{name}.preprocess_input": _preprocessed for name in _APPLICATION_MODULES.split()},
    **{f"keras.applications.{name}.decode_predictions": _decoded for name in _APPLICATION_MODULES.split()},
    **{name: _constant(NONE) for name in _NO_TENSORS},
    **{name: _constant(value) for name, value in _PYTHON_RESULTS.items()},
    **{name: _constant(NOT_A_TENSOR) for name in _OBJECT_MAKERS},
    **{
        f"keras.{family}.get": _get
        for family in ("initializers", "regularizers", "constraints", "losses", "metrics", "optimizers")
    },
    "keras.activations.get": _get_activation,
}
