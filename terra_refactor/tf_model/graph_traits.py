"""Traits of library functions for rules and decisions: their behaviour in Python, a trace, a session and XLA.

Computes: nothing. Gives: `GRAPH_TRAITS`, rows of `spec.Trait` that `traits.py` adds to its table, and a few queries about families of
names. Each row describes the behaviour of TensorFlow 2.21 or of Python's manual; the proofs are those of the rules that use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dtype import FLOAT32, INT32, INT64, DType
from terra_refactor.tf_model.name_table import within, words
from terra_refactor.tf_model.spec import Trait

CLASSES_WITHOUT_HASH: Final = frozenset({"Namespace", "SimpleNamespace"})
"""Classes of Python (`argparse`, `types`) that compare by value, by the names of their objects' classes in the facts."""

EXAMINES_FUNCTION: Final = " ".join(
    (
        within(
            "inspect",
            "findsource get_annotations getabsfile getclosurevars getfile getmembers getmembers_static getsourcefile isfunction ismethod "
            "ismethoddescriptor",
        ),
        "typing.get_type_hints",
    )
)
SAVES_MODEL: Final = (
    "keras.Model.save keras.Model.to_json keras.Model.from_config keras.saving.save_model keras.saving.load_model "
    "keras.models.clone_model keras.models.model_from_json keras.callbacks.ModelCheckpoint"
)
SAVES_OBJECT: Final = "tensorflow.saved_model.save"
TRACKED_CLASSES: Final = ("tensorflow.Module", "tensorflow.train.Checkpoint", "keras.layers.Layer")
"""Base classes whose objects `tf.saved_model.save` saves with their methods."""
STARTS_PROCESSES: Final = (
    "concurrent.futures.ProcessPoolExecutor joblib.Parallel multiprocessing.Pool multiprocessing.Process"
)
SENDS_TO_PROCESS: Final = " ".join(
    (
        within("concurrent.futures.ProcessPoolExecutor", "map submit"),
        within(
            "multiprocessing.pool.Pool", "apply apply_async imap imap_unordered map map_async starmap starmap_async"
        ),
        "joblib.delayed multiprocessing.Process",
    )
)
SETS_SEED: Final = "tensorflow.random.set_seed tensorflow.compat.v1.set_random_seed keras.utils.set_random_seed"
COPIES_DEEPLY: Final = "copy.deepcopy pickle.dump pickle.dumps dataclasses.asdict dataclasses.astuple"
CONTAINERS_WITHOUT_HASH: Final = frozenset(
    " ".join(
        (
            within("builtins", "dict list set bytearray"),
            within("collections", "ChainMap Counter OrderedDict UserDict UserList defaultdict deque"),
            within("collections.abc", "Mapping MutableMapping MutableSet Set"),
            within("typing", "Dict List Mapping MutableMapping DefaultDict OrderedDict Counter"),
            "array.array types.SimpleNamespace argparse.Namespace",
        )
    ).split()
)
"""Base classes of Python that compare by content: objects of a class that derives from one have no hash."""

_TEXT_METHODS: Final = within(
    "builtins.str",
    "capitalize casefold center expandtabs format format_map join ljust lower lstrip removeprefix removesuffix "
    "replace rjust rstrip strip swapcase title translate upper zfill",
)
_ASSERTIONS: Final = within(
    "tensorflow.debugging",
    "assert_all_finite assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal "
    "assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank "
    "assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_shapes assert_type "
    "assert_proper_iterable",
)
"""Assertions; those of `tensorflow.compat.v1` also match these names (see `name_table`)."""
_DECIDED_BY_SHAPE: Final = " ".join(
    f"!tensorflow.debugging.assert_{name}" for name in ["shapes", "rank", "rank_at_least", "rank_in", "scalar", "type"]
)
_ONE_DTYPE: Final = " ".join(
    (
        within("tensorflow", "tensordot einsum where concat stack clip_by_value linspace"),
        within(
            "tensorflow.math",
            "add subtract multiply divide pow maximum minimum divide_no_nan multiply_no_nan squared_difference "
            "floordiv atan2 equal not_equal less less_equal greater greater_equal",
        ),
        within("tensorflow.linalg", "matmul matvec"),
        within("operator", "add sub mul truediv floordiv mod pow matmul lt le gt ge eq ne"),
    )
)
_REDUCING: Final = frozenset({"max", "mean", "min", "prod", "std", "sum", "var"})
"""Reductions of `keras.backend`."""
_LOGICAL: Final = frozenset({"reduce_all", "reduce_any", "reduce_join"})
"""Reductions without a gradient."""
_FAILING: Final = " ".join(
    (
        within(
            "tensorflow",
            "dynamic_partition dynamic_stitch ensure_shape gather gather_nd reshape reverse_sequence scatter_nd "
            "slice split tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub "
            "tensor_scatter_nd_update unravel_index",
        ),
        within("tensorflow.TensorArray", "gather read scatter split unstack write"),
        within("tensorflow.audio", "decode_wav"),
        within("tensorflow.image", "crop_and_resize"),
        within(
            "tensorflow.io",
            "decode_and_crop_jpeg decode_base64 decode_bmp decode_csv decode_gif decode_image decode_jpeg decode_json_example "
            "decode_png decode_raw extract_jpeg_shape parse_example parse_sequence_example parse_single_example "
            "parse_single_sequence_example parse_tensor read_file",
        ),
        within("tensorflow.linalg", "inv lu solve"),
        within(
            "tensorflow.math",
            "bincount floordiv floormod invert_permutation segment_max segment_mean segment_min segment_prod segment_sum top_k "
            "unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sum",
        ),
        within("tensorflow.nn", "embedding_lookup sparse_softmax_cross_entropy_with_logits"),
        within("tensorflow.sparse", "reshape to_dense"),
        within(
            "tensorflow.strings",
            "regex_full_match regex_replace substr to_number unicode_decode unicode_transcode",
        ),
    )
)
"""`tests/conformance/test_pruned_operations.py` runs each of them."""
_RANKED_LAYERS: Final = (
    "AveragePooling2D BatchNormalization Conv1D Conv2D Conv3D Dense Flatten GRU LSTM MaxPooling2D SimpleRNN"
)

_ADAPTED: Final = ("Discretization", "IntegerLookup", "Normalization", "StringLookup", "TextVectorization")
GRAPH_TRAITS: Final[Mapping[Trait, str]] = {
    Trait.ITERATES: within(
        "builtins",
        "all any dict enumerate filter frozenset iter list map max min reversed set sorted sum tuple zip",
    )
    + " tensorflow.strings.join tensorflow.math.add_n "
    + within("tensorflow", "identity_n shape_n tuple")
    + " "
    + within("keras.ops", "stack hstack vstack dstack")
    + " "
    + within("tensorflow.experimental.numpy", "hstack vstack dstack")
    + " functools.reduce collections.deque collections.Counter heapq.merge heapq.nlargest heapq.nsmallest math.fsum math.prod "
    + within(
        "itertools",
        "accumulate chain chain.from_iterable combinations combinations_with_replacement compress cycle dropwhile "
        "filterfalse groupby islice pairwise permutations product starmap takewhile tee zip_longest",
    ),
    Trait.ITERATES_FIRST: within("builtins", "all any dict enumerate frozenset iter list reversed set sorted sum tuple")
    + " "
    + within(
        "itertools",
        "accumulate chain.from_iterable combinations combinations_with_replacement cycle groupby islice pairwise permutations tee",
    ),
    Trait.ITERATES_DATASETS: within("builtins", "all any enumerate filter iter map zip"),
    Trait.MAKES_ITERATOR: within("builtins", "map zip filter enumerate reversed iter")
    + " "
    + within(
        "itertools",
        "accumulate chain chain.from_iterable combinations combinations_with_replacement compress count cycle dropwhile "
        "filterfalse groupby islice pairwise permutations product repeat starmap takewhile zip_longest",
    ),
    Trait.COMPARES_ELEMENTS: within("builtins", "all any max min sorted"),
    Trait.COMPARES_RESULTS: "builtins.filter builtins.list.sort builtins.tuple.count builtins.tuple.index "
    + within("builtins.list", "count index remove")
    + " "
    + within("heapq", "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest")
    + " "
    + within("bisect", "bisect bisect_left insort insort_left")
    + " "
    + within("itertools", "compress dropwhile filterfalse groupby takewhile")
    + " "
    + within("operator", "contains not_ truth"),
    Trait.COMPARES_ARGUMENTS: "builtins.max builtins.min",
    Trait.ORDER_FREE: within("builtins", "all any dict frozenset len max min set sorted sum")
    + " tensorflow.math.add_n",
    Trait.RESIZES: within("tensorflow", "boolean_mask concat expand_dims pad repeat stack tile"),
    Trait.KEEPS_ORDER: "builtins.list builtins.tuple",
    Trait.VIEWS_DICT: within("builtins.dict", "items keys values"),
    Trait.HASHES_ELEMENTS: "builtins.set builtins.frozenset builtins.dict.fromkeys collections.Counter",
    Trait.NEEDS_VALUE_OF_FIRST: " ".join(
        (
            within("builtins.list", "pop insert index remove count"),
            within("builtins.dict", "get pop setdefault"),
            within("builtins.set", "add discard remove"),
            "builtins.tuple.index builtins.tuple.count",
        )
    ),
    Trait.MAKES_TEXT: "builtins.str builtins.repr builtins.ascii builtins.format",
    Trait.HANDS_ON_TEXT: f"builtins.str builtins.repr builtins.ascii builtins.format {_TEXT_METHODS}",
    Trait.KEEPS_ARGUMENT: within("builtins.list", "append insert extend")
    + " builtins.set.add builtins.dict.setdefault collections.deque.append",
    Trait.FILLS_LIST: within("builtins.list", "append extend insert"),
    Trait.NEEDS_NUMBER: within("builtins", "int float range abs round"),
    Trait.OPENS_FILE: "builtins.open codecs.open gzip.open bz2.open lzma.open tensorflow.io.gfile.GFile",
    Trait.ENDS_PROGRAM: """
        sys.exit os.abort builtins.exit builtins.quit argparse.ArgumentParser.exit argparse.ArgumentParser.error
        unittest.TestCase.skipTest unittest.TestCase.fail pytest.skip pytest.xfail pytest.exit pytest.fail
    """,
    Trait.KEEPS_SETTING: "tensorflow.summary.experimental.set_step tensorflow.random.set_global_generator",
    Trait.READS_KEPT: " ".join(
        (
            within("os", "access listdir lstat readlink scandir stat walk"),
            within("os.path", "exists lexists isfile isdir islink ismount getsize realpath samefile"),
            within(
                "pathlib.Path",
                "exists glob is_dir is_file is_mount is_symlink iterdir read_bytes read_text resolve rglob samefile stat",
            ),
            "glob.* argparse.ArgumentParser.parse_args argparse.ArgumentParser.parse_known_args",
            "json.load pickle.load yaml.load yaml.safe_load joblib.load configparser.RawConfigParser.read "
            "xml.etree.ElementTree.parse",
            within("numpy", "load loadtxt genfromtxt fromfile fromregex memmap"),
            within(
                "pandas",
                "read_csv read_table read_excel read_json read_pickle read_hdf read_parquet read_sql read_feather",
            ),
            "cv2.imread PIL.Image.open imageio.imread imageio.v2.imread skimage.io.imread scipy.misc.imread scipy.io.loadmat "
            "scipy.io.wavfile.read soundfile.read librosa.load nibabel.load",
            "sklearn.datasets.* keras.datasets.* tensorflow_datasets.load tensorflow_hub.load tensorflow.saved_model.load",
            within(
                "keras.utils",
                "get_file load_img image_dataset_from_directory text_dataset_from_directory audio_dataset_from_directory",
            ),
            within(
                "tensorflow.train",
                "checkpoints_iterator get_checkpoint_state latest_checkpoint list_variables load_checkpoint load_variable",
            ),
            within("tensorflow.io.gfile", "exists glob isdir listdir stat walk"),
        )
    ),
    Trait.TAKES_OPEN_SIZES: "tensorflow.ensure_shape tensorflow.TensorSpec tensorflow.TensorShape",
    Trait.READS_SIZE: "builtins.len builtins.range tensorflow.get_static_value tensorflow.Tensor.get_shape tensorflow.unstack",
    Trait.NEEDS_RANK: "tensorflow.compat.v1.image.resize "
    "tensorflow.image.central_crop tensorflow.image.resize "
    + " ".join(f"keras.layers.{name}.__call__" for name in _RANKED_LAYERS.split()),
    Trait.CONVERTS_NUMBERS: "tensorflow.cast tensorflow.range tensorflow.convert_to_tensor",
    Trait.KEEPS_NUMBERS_TYPE: "tensorflow.convert_to_tensor tensorflow.constant tensorflow.identity tensorflow.Variable",
    Trait.CONVERTS_ARRAYS: "tensorflow.convert_to_tensor tensorflow.constant",
    Trait.ONE_DTYPE: _ONE_DTYPE,
    Trait.RUNS_BRANCHES: within("tensorflow", "cond case switch_case"),
    Trait.RUNS_BODY: within("tensorflow", "while_loop map_fn scan foldl foldr"),
    Trait.GIVES_OPERATION: f"tensorflow.print tensorflow.group tensorflow.no_op tensorflow.debugging.Assert {_ASSERTIONS}",
    Trait.ON_FAILURE_ONLY: "tensorflow.debugging.*",
    Trait.DROPPED_BY_XLA: f"tensorflow.debugging.Assert tensorflow.debugging.check_numerics {_ASSERTIONS} {_DECIDED_BY_SHAPE}",
    Trait.CHANGES_TENSOR_ARRAY: within("tensorflow.TensorArray", "write unstack scatter split"),
    Trait.GIVES_SIZE_OF_ARRAY: "tensorflow.TensorArray.size",
    Trait.FAILS_ON_VALUES: _FAILING,
    Trait.LOOP_OPTIONS: "tensorflow.autograph.experimental.set_loop_options",
    Trait.LEAVES_GRAPH: "tensorflow.init_scope",
    Trait.ENTERS_OTHER_GRAPH: "tensorflow.Graph.as_default",
    Trait.ASKS_FOR_MODE: within("tensorflow", "executing_eagerly inside_function is_symbolic_tensor"),
    Trait.FED_BY_SESSION: within("tensorflow.compat.v1", "placeholder sparse_placeholder"),
    Trait.REFUSED_EAGERLY: "tensorflow.gradients tensorflow.hessians tensorflow.parallel_stack tensorflow.compat.v1.metrics.? "
    "!tensorflow.compat.v1.metrics.recall_at_top_k "
    + within(
        "tensorflow.compat.v1",
        "add_check_numerics_ops data.make_initializable_iterator summary.merge summary.merge_all",
    )
    + " "
    + within(
        "tensorflow.compat.v1.train",
        "batch batch_join input_producer maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join range_input_producer "
        "shuffle_batch shuffle_batch_join slice_input_producer start_queue_runners string_input_producer",
    ),
    Trait.ASSIGNS_REFERENCE: within("tensorflow.compat.v1", "assign assign_add assign_sub"),
    Trait.READS_VARIABLE: within("keras.backend", "eval get_value"),
    Trait.KEEPS_CONTENTS: within("tensorflow.lookup.experimental", "DenseHashTable MutableHashTable")
    + " "
    + within("tensorflow.queue", "FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue"),
    Trait.FILLED_ONCE: within("tensorflow.lookup", "StaticHashTable StaticVocabularyTable"),
    Trait.KEEPS_ADAPTED: " ".join(f"keras.layers.{name}.__call__" for name in _ADAPTED),
    Trait.ADAPTS: " ".join(f"keras.layers.{name}.adapt" for name in _ADAPTED)
    + " "
    + " ".join(
        f"keras.layers.{name}.set_vocabulary" for name in ("IntegerLookup", "StringLookup", "TextVectorization")
    ),
    Trait.NORMALISES_BY_BATCH: within("keras", "layers.BatchNormalization.__call__ Model.__call__"),
    Trait.ASKS_FOR_CLASS: "builtins.isinstance functools.singledispatch tensorflow.is_tensor",
    Trait.READS_FILE: "tensorflow.io.read_file tensorflow.io.matching_files",
    Trait.WRITES_FILE: "tensorflow.io.write_file",
    Trait.TAKES_VARIABLES: within("keras.optimizers.Optimizer", "apply_gradients apply build minimize")
    + " "
    + within("keras.optimizers.legacy.Optimizer", "apply_gradients minimize"),
    Trait.GIVES_INPUT_SHAPE: "keras.Input keras.layers.InputLayer",
    Trait.COMPUTES_GRADIENT: "tensorflow.GradientTape.gradient tensorflow.GradientTape.jacobian tensorflow.gradients "
    "tensorflow.compat.v1.train.Optimizer.minimize",
    Trait.EXAMINES_FUNCTION: EXAMINES_FUNCTION,
    Trait.COPIES_DEEPLY: COPIES_DEEPLY,
    Trait.SAVES_MODEL: SAVES_MODEL,
    Trait.SAVES_OBJECT: SAVES_OBJECT,
    Trait.SENDS_TO_PROCESS: SENDS_TO_PROCESS,
    Trait.SETS_SEED: SETS_SEED,
    Trait.IN_CONFIGURATION: "keras.layers.* keras.losses.* keras.metrics.* keras.Model.compile",
    Trait.HANDS_BACK: "tensorflow.nest.* tensorflow.identity_n",
    Trait.CALLS_UNCONVERTED: "tensorflow.nest.* tensorflow.custom_gradient tensorflow.recompute_grad "
    "tensorflow.compat.v1.train.Optimizer.*",
    Trait.CALLS_AT_ONCE: "numpy.* !numpy.frompyfunc re.* bisect.* json.* timeit.* statistics.* operator.call",
    Trait.CALLS_CONVERTED: "functools.partial functools.singledispatch functools.wraps",
    Trait.CONVERTS_SOURCE: "tensorflow.autograph.to_graph tensorflow.autograph.to_code",
    Trait.RESHAPES: "tensorflow.reshape keras.ops.reshape",
    Trait.STACKS: "tensorflow.stack keras.ops.stack tensorflow.TensorArray.stack",
    Trait.RUNS_GRAPHS_EAGERLY: "tensorflow.config.run_functions_eagerly "
    "tensorflow.config.experimental_run_functions_eagerly",
    Trait.ENDS_EAGER: within("tensorflow.compat.v1", "disable_eager_execution disable_v2_behavior"),
    Trait.EAGER_PROGRAMS: "tensorflow.GradientTape tensorflow.Tensor.numpy tensorflow.Variable.numpy "
    "tensorflow.compat.v1.enable_eager_execution tensorflow.compat.v1.enable_v2_behavior",
}
"""Patterns by trait, as in `name_table`."""

_SESSIONS: Final = frozenset(
    within(
        "tensorflow.compat.v1",
        "InteractiveSession Session disable_eager_execution disable_v2_behavior get_variable "
        "global_variables_initializer placeholder placeholder_with_default variable_scope",
    ).split()
)
_TURN_EAGER_ON: Final = frozenset(within("tensorflow.compat.v1", "enable_eager_execution enable_v2_behavior").split())
_FORMER: Final = ("tensorflow.compat.v1.layers.", "tensorflow.contrib.")
# functions that a single rule is about
APPEND: Final = "builtins.list.append"
SETS_ATTRIBUTE: Final = frozenset({"builtins.setattr", "builtins.object.__setattr__"})
BOOL_OF: Final = "builtins.bool"
COND: Final = "tensorflow.cond"
WHILE_LOOP: Final = "tensorflow.while_loop"
CONVERT: Final = "tensorflow.convert_to_tensor"
REDUCE: Final = "functools.reduce"
SORTED: Final = "builtins.sorted"
DENSE: Final = "keras.layers.Dense"
FORMAT: Final = "builtins.format"
FORMAT_METHOD: Final = "builtins.str.format"
GETATTR: Final = "builtins.getattr"
HASATTR: Final = "builtins.hasattr"
CALLABLE: Final = "builtins.callable"
ALL_OF: Final = "builtins.all"
ANY_OF: Final = "builtins.any"
FUNCTION_CLASSES: Final = frozenset({"types.FunctionType", "types.LambdaType", "types.MethodType"})
"""The classes of plain Python functions and methods: a traced function is an instance of none."""
ONLY_OF_FUNCTIONS: Final = frozenset(
    [
        "__annotations__",
        "__builtins__",
        "__closure__",
        "__code__",
        "__defaults__",
        "__func__",
        "__globals__",
        "__kwdefaults__",
        "__self__",
    ]
)
"""Attributes of plain functions and methods that a traced function does not have."""
PARAMETERS_WITH_FUNCTIONS: Final = words(
    "body body_fun branch_fns branches cond default f false_fn fn fun func function loop_fn pred_fn_pairs pyfunc true_fn window_fn"
)
"""Names of parameters for functions that an operation calls (`tf.map_fn`, `tf.cond`), by the documentation of 2.21."""
TO_INT: Final = "builtins.int"
ISINSTANCE: Final = "builtins.isinstance"
IS_TENSOR: Final = "tensorflow.is_tensor"
LAYER: Final = "keras.layers.Layer"
LEN: Final = "builtins.len"
LIST: Final = "builtins.list"
LOSS: Final = "keras.losses.Loss"
METRIC: Final = "keras.metrics.Metric"
NEXT: Final = "builtins.next"
RANGE: Final = "builtins.range"
EXIT_STACK: Final = "contextlib.ExitStack"
RUN_TEXT: Final = frozenset({"builtins.exec", "builtins.execfile"})
"""Functions that execute a string, which may bind any name of its module."""
POPITEM: Final = "builtins.dict.popitem"
PRINT: Final = "builtins.print"
RANK: Final = "tensorflow.rank"
TENSOR_SHAPE: Final = "tensorflow.TensorShape"
SCHEDULE: Final = "keras.optimizers.schedules.LearningRateSchedule"
KERAS_VARIABLE: Final = "keras.Variable"
CALLED_WITH_VARIABLES: Final = frozenset(
    {"keras.constraints.Constraint", "keras.regularizers.Regularizer", SCHEDULE},
)
"""Classes whose objects Keras calls with its own variables in the graph of a training step."""
SEQUENTIAL: Final = "keras.Sequential"
MODEL: Final = "keras.Model"
KERAS_STEPS: Final = frozenset({"train_step", "test_step", "predict_step"})
"""Methods of Keras models that `fit`, `evaluate` and `predict` trace."""
COPY_OF_TENSOR: Final = "tensorflow.Tensor.__deepcopy__"
COPY_OF_VARIABLE: Final = "tensorflow.Variable.__deepcopy__"
STATIC_VALUE: Final = "tensorflow.get_static_value"
STOP_ITERATION: Final = "builtins.StopIteration"
TENSOR: Final = "tensorflow.Tensor"
TENSOR_ARRAY: Final = "tensorflow.TensorArray"
TF_FUNCTION: Final = "tensorflow.function"
TYPE: Final = "builtins.type"
_CLASSES_OF_A_MODE: Final = frozenset({"EagerTensor", "_EagerTensorBase", "SymbolicTensor"})
UNSTACK: Final = "tensorflow.unstack"
ZIP: Final = "builtins.zip"

KERAS_BASES: Final = (
    "keras.layers.Layer",
    "keras.losses.Loss",
    "keras.metrics.Metric",
    "keras.optimizers.Optimizer",
    "keras.initializers.Initializer",
    "keras.regularizers.Regularizer",
    "keras.constraints.Constraint",
    "keras.callbacks.Callback",
)
"""Classes whose methods Keras calls and traces itself."""
_OF_PYTHON: Final = ("builtins.", "collections.")
_MAKERS: Final = ("tensorflow.", "keras.", "numpy.", "tensorflow_probability.", "tensorflow_addons.")
_LAYERS: Final = "keras.layers."
_CALL: Final = ".__call__"
_MADE_BY_AUTOGRAPH: Final = {TO_INT: INT32, "builtins.float": FLOAT32, "builtins.len": INT64}
_CATCHES_ALL: Final = frozenset({"builtins.Exception", "builtins.BaseException"})


def is_of_python(name: str) -> bool:
    """Whether a name belongs to Python's built-in functions and containers."""
    return name.startswith(_OF_PYTHON)


def is_of_tensorflow(name: str) -> bool:
    """Whether a name belongs to TensorFlow."""
    return name.startswith("tensorflow.")


def is_of_sessions(name: str) -> bool:
    """Whether only graphs of TensorFlow 1 need a function."""
    return name in _SESSIONS or name.startswith(_FORMER)


def turns_eager_on(name: str) -> bool:
    """Whether a function enables eager execution, as in TensorFlow 1 programs."""
    return name in _TURN_EAGER_ON


def is_of_strategies(name: str) -> bool:
    """Whether a name belongs to `tf.distribute`: strategies and their results."""
    return name.startswith("tensorflow.distribute.")


def takes_axes_in_gradient(name: str) -> bool:
    """Whether the gradient of a function uses its axes as tensors in a graph: reductions, and `tf.concat`."""
    module, _, last = name.rpartition(".")
    if module.endswith("keras.backend"):
        return last in _REDUCING
    return name == "tensorflow.concat" or (
        is_of_tensorflow(name) and last.startswith("reduce_") and last not in _LOGICAL
    )


FILLING: Final = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "appendleft", "extendleft"})
"""Methods of containers that add elements."""
SETS_LAYOUT: Final = frozenset({"keras.config.set_image_data_format", "keras.backend.set_image_data_format"})
"""Functions that set the order of the axes of images for all layers."""


def is_of_keras(name: str) -> bool:
    """Whether a name belongs to Keras."""
    return name.startswith("keras.")


def is_method_of_tensor(name: str) -> bool:
    """Whether a name is that of a method of tensors or variables."""
    return name.startswith(("tensorflow.Tensor.", "tensorflow.Variable."))


def makes_arrays(name: str) -> bool:
    """Whether a library's functions return tensors or arrays, whatever their arguments."""
    return name.startswith(_MAKERS)


def called_layer(name: str) -> str | None:
    """The class of a layer from the name of its call: `keras.layers.Dense` for `keras.layers.Dense.__call__`."""
    return name.removesuffix(_CALL) if name.startswith(_LAYERS) and name.endswith(_CALL) else None


def is_layer_class(name: str) -> bool:
    """Whether a name is that of a layer class."""
    return name.startswith(_LAYERS) and not name.endswith(_CALL)


def makes_variables_late(name: str) -> bool:
    """Whether a name is that of a class of layers, models or optimizers, which create their variables when they are
    called or applied.
    """
    return is_layer_class(name) or (
        name.startswith(("keras.Sequential", "keras.Model", "keras.models.", "keras.optimizers."))
        and not name.endswith(_CALL)
        and name.rpartition(".")[2][:1].isupper()
    )


def is_error_of_operation(name: str) -> bool:
    """Whether an exception is one that operations raise when they run."""
    return name.startswith("tensorflow.errors.")


def makes_identifier(name: str) -> bool:
    """Whether a function returns a new name on each call."""
    return name.partition(".")[0] == "uuid"


def catches_everything(name: str) -> bool:
    """Whether a handler of that class also catches the errors of operations."""
    return name in _CATCHES_ALL


def made_by_autograph(names: tuple[str, ...]) -> DType | None:
    """The dtype of the tensor to which AutoGraph converts a call of these functions on a tensor, or of `len` on a dataset."""
    return _MADE_BY_AUTOGRAPH.get(names[0]) if len(names) == 1 else None


def method_of_tensor(name: str) -> str:
    """The canonical name of a method of tensors."""
    return f"{TENSOR}.{name}"


SCALAR_OF_NUMPY: Final = "numpy.generic"
"""The class of `np.float32(value)`."""


def is_method_of_array(name: str) -> bool:
    """Whether a name is that of a method of ndarrays or of NumPy's scalars."""
    return name.startswith(("numpy.ndarray.", "numpy.generic."))


def built_in(name: str) -> str:
    """The canonical name of a Python built-in."""
    return f"builtins.{name}"


def is_of_pipelines(name: str) -> bool:
    """Whether a name belongs to `tf.data`."""
    return name.startswith("tensorflow.data.")


SIZES_AT_RUN_TIME: Final = frozenset({"tensorflow.shape", "tensorflow.size", "tensorflow.rank"})


COMPONENTS_OF_DATASETS: Final = frozenset(
    {"tensorflow.data.Dataset.from_tensor_slices", "tensorflow.data.Dataset.from_tensors"}
)
"""Functions that make a dataset whose elements have the structure of the argument."""


def gives_integers(name: str) -> bool:
    """Whether a function returns integers, whatever its arguments."""
    return name in SIZES_AT_RUN_TIME


def is_class_of_a_mode(name: str) -> bool:
    """Whether tensors are instances of that class only in eager execution, or only in a graph."""
    return name.rpartition(".")[2] in _CLASSES_OF_A_MODE


NUMBER_AS_SHAPE: Final = {"tensorflow.reshape": (1, "shape"), "tensorflow.fill": (0, "dims")}
"""Functions that accept a number as a shape in eager mode only, and the position and name of that argument."""
