"""Rules for functions that call functions, and for structures, control flow, gradients and assertions.

Computes: results of callbacks by `BoundCall.invoke`. Gives: `RULES`. Source: `tf.cond`, `tf.while_loop`, `tf.map_fn`, `tf.scan`,
`tf.nest`, `tf.GradientTape`, `tf.TensorArray`, TensorFlow 2.21.

Approximates: a gradient is assumed to exist (TensorFlow gives None for sources that the target does not depend on). A loop's
variables have the join of their types before the loop and after two iterations; sizes that keep changing are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, Why, definitely_different, opened
from terra_refactor.domain.dtype import BOOL, INT32
from terra_refactor.domain.lattice import join
from terra_refactor.domain.roots import EVERYWHERE, Traced
from terra_refactor.domain.shape import Shape, meet_shapes, open_axis
from terra_refactor.domain.tensor import TensorType, join_tensor_types
from terra_refactor.domain.value import (
    FALSE,
    NONE,
    NOT_A_TENSOR,
    TRUE,
    UNBOUND,
    UNKNOWN,
    UNKNOWN_BOOL,
    UNKNOWN_STR,
    Constant,
    DTypeValue,
    FrozenDict,
    FrozenList,
    Origin,
    ShapeValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model.arguments import (
    elements,
    integer,
    is_none,
    is_structure,
    leaves,
    map_structure,
    shape_argument,
    truth,
)
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import argument, result
from terra_refactor.tf_model.spec import BoundCall, OperationRule

# --- structures -----------------------------------------------------------------------------------------------------------------


def map_structures(function: Callable[[tuple[Value, ...]], Value], values: tuple[Value, ...]) -> Value:
    """Applies `function` to corresponding leaves of structures of the same form; `UNKNOWN` if they are not known to match."""
    first = values[0]
    if not is_structure(first):
        return function(values)
    match first:
        case TupleValue(items, name, fields):
            columns = [elements(value) for value in values]
            if any(column is None or len(column) != len(items) for column in columns):
                return UNKNOWN
            rows = zip(*(column for column in columns if column is not None), strict=True)
            return TupleValue(tuple(map_structures(function, row) for row in rows), name, fields)
        case FrozenList(None, element):
            if len(values) > 1 or element is None:
                return UNKNOWN
            return FrozenList(None, map_structures(function, (element,)))
        case FrozenList(items):
            columns = [elements(value) for value in values]
            if items is None or any(column is None or len(column) != len(items) for column in columns):
                return UNKNOWN
            rows = zip(*(column for column in columns if column is not None), strict=True)
            return FrozenList(tuple(map_structures(function, row) for row in rows))
        case FrozenDict(entries, rest):
            dicts = [value for value in values if isinstance(value, FrozenDict)]
            if rest is not None or len(dicts) != len(values):
                return UNKNOWN
            merged: list[tuple[Value, Value]] = []
            for key, _ in entries:
                row = tuple(dict(one.items).get(key, UNKNOWN) for one in dicts)
                merged.append((key, map_structures(function, row)))
            return FrozenDict(tuple(merged))
        case _:
            return UNKNOWN


def _up_to(call: BoundCall) -> Value:
    """`map_structure_up_to(shallow_tree, func, *inputs)` of TensorFlow's internal `nest`: the leaves are those of the shallow tree."""
    values = (*call.arguments.values(), *call.extra_arguments)
    if len(values) < 3 or call.incomplete:
        return UNKNOWN
    shallow, function, *inputs = values
    if not is_structure(shallow):
        return call.invoke(function, inputs)
    return UNKNOWN


def _flatten(call: BoundCall) -> Value:
    flat = leaves(call.arguments.get("structure", UNKNOWN))
    return FrozenList(None, UNKNOWN) if flat is None else FrozenList(flat)


def _pack(call: BoundCall) -> Value:
    structure, flat = call.argument("structure"), elements(call.argument("flat_sequence"))
    if structure is None:
        return UNKNOWN
    places = leaves(structure)
    if places is None or flat is None or len(places) != len(flat):
        return UNKNOWN
    remaining = list(flat)
    return _rebuilt(structure, remaining)


def _rebuilt(structure: Value, flat: list[Value]) -> Value:
    match structure:
        case TupleValue(items, name, fields):
            return TupleValue(tuple(_rebuilt(item, flat) for item in items), name, fields)
        case FrozenList(items) if items is not None:
            return FrozenList(tuple(_rebuilt(item, flat) for item in items))
        case FrozenDict(entries):
            ordered = sorted(entries, key=lambda entry: repr(entry[0]))
            rebuilt = {key: _rebuilt(entry, flat) for key, entry in ordered}
            return FrozenDict(tuple((key, rebuilt[key]) for key, _ in entries))
        case _:
            return flat.pop(0)


def _is_nested(call: BoundCall) -> Value:
    value = argument(call, "seq", "structure")
    if value is None:
        return UNKNOWN_BOOL
    if is_structure(value):
        return Constant(True)
    return Constant(False) if isinstance(value, TensorValue | Constant | DTypeValue) else UNKNOWN_BOOL


# --- control flow ---------------------------------------------------------------------------------------------------------------


def _without_content(value: Value) -> Value:
    """A value after a graph construct: numbers have become tensors, contents are unknown."""
    match value:
        case TensorValue(tensor, kind):
            return TensorValue(tensor, TensorKind.TENSOR if kind in (TensorKind.VARIABLE, TensorKind.NDARRAY) else kind)
        case Constant(None):
            return value
        case Constant():
            part = operand(value)
            return result(part.type.dtype, part.type.shape)
        case _:
            return value


def _joined(left: Value, right: Value) -> Value:
    """The join of the values of two branches, leaf by leaf."""

    def one(row: tuple[Value, ...]) -> Value:
        first, second = row
        if isinstance(first, TensorValue) and isinstance(second, TensorValue) and first.kind is second.kind:
            joined = join_tensor_types(first.type, second.type)
            shape = joined.shape
            for axis, (size, other) in enumerate(zip(first.type.shape or (), second.type.shape or (), strict=False)):
                if definitely_different(size, other):
                    shape = open_axis(shape, axis, EVERYWHERE, Why.CONTENT)
            traced = first.traced | second.traced | Traced(content=EVERYWHERE)
            return TensorValue(TensorType(joined.dtype, shape), first.kind, traced=traced)
        return join(first, second)

    if is_structure(left) and is_structure(right):
        merged = map_structures(one, (left, right))
        return join(left, right) if merged == UNKNOWN else merged
    return one((left, right))


def _cond(call: BoundCall) -> Value:
    first, second = argument(call, "true_fn", "fn1"), argument(call, "false_fn", "fn2")
    known = truth(call.argument("pred"))
    branches = [branch for branch, taken in ((first, known is not False), (second, known is not True)) if taken]
    found: Value | None = None
    for branch in branches:
        if branch is None:
            return UNKNOWN
        value = map_structure(_without_content, call.invoke(branch, ()))
        found = value if found is None else _joined(found, value)
    return UNKNOWN if found is None else found


def _branches(call: BoundCall, functions: list[Value]) -> Value:
    found: Value | None = None
    for function in functions:
        value = map_structure(_without_content, call.invoke(function, ()))
        found = value if found is None else _joined(found, value)
    return UNKNOWN if found is None else found


def _switch_case(call: BoundCall) -> Value:
    functions: list[Value] = []
    for item in elements(call.argument("branch_fns")) or ():
        pair = elements(item)
        functions.append(pair[1] if pair is not None and len(pair) == 2 else item)
    default = call.argument("default")
    if default is not None and not is_none(default):
        functions.append(default)
    return _branches(call, functions)


def _case(call: BoundCall) -> Value:
    functions: list[Value] = []
    for item in elements(call.argument("pred_fn_pairs")) or ():
        pair = elements(item)
        if pair is None or len(pair) != 2:
            return UNKNOWN
        functions.append(pair[1])
    default = call.argument("default")
    if default is not None and not is_none(default):
        functions.append(default)
    return _branches(call, functions)


def _invariant(row: tuple[Value, ...]) -> Value:
    value, invariant = row
    if not isinstance(value, TensorValue):
        return value
    shape = shape_argument(invariant) if not isinstance(invariant, SpecValue) else invariant.type.shape
    before = value.type.shape
    if shape is not None and before is not None and len(shape) == len(before):
        # a size that was known, and that the invariant allows to change
        relaxed = [axis for axis, size in enumerate(shape) if size is None and before[axis] is not None]
        for axis in relaxed:
            shape = open_axis(shape, axis, EVERYWHERE, Why.CONTENT)
    return TensorValue(TensorType(value.type.dtype, shape), value.kind)


def _while_loop(call: BoundCall) -> Value:
    body, variables = call.argument("body"), call.argument("loop_vars")
    if body is None or variables is None:
        return UNKNOWN
    state = map_structure(_without_content, variables)
    invariants = call.argument("shape_invariants")
    if invariants is not None and not is_none(invariants):
        widened = _widened(state, invariants)
        return UNKNOWN if widened is None else widened
    for _ in range(2):
        arguments = elements(state)
        if arguments is None:
            return UNKNOWN
        after = call.invoke(body, arguments)
        if not is_structure(after):
            after = TupleValue((after,)) if len(arguments) == 1 else after
        after = _in_form_of(state, map_structure(_without_content, after))
        merged = _joined(state, after)
        if merged == state:
            break
        state = merged
    return state


def _widened(state: Value, invariants: Value) -> Value | None:
    given, wanted = elements(state), elements(invariants)
    if given is None or wanted is None or len(given) != len(wanted):
        return None
    rows = tuple(
        _invariant((value, invariant)) if isinstance(value, TensorValue) else value
        for value, invariant in zip(given, wanted, strict=True)
    )
    return FrozenList(rows) if isinstance(state, FrozenList) else TupleValue(rows)


def _in_form_of(state: Value, after: Value) -> Value:
    """The results of a loop's body as the same kind of sequence as the loop variables."""
    items = elements(after)
    if items is None:
        return after
    if isinstance(state, FrozenList):
        return FrozenList(items)
    return TupleValue(items, state.name, state.fields, state.cls) if isinstance(state, TupleValue) else after


def _row(value: Value) -> Value:
    """A slice along the first axis, as the functions of `map_fn` and `scan` receive it."""
    part = operand(value)
    if isinstance(value, TensorValue) and value.kind is TensorKind.RAGGED:
        return UNKNOWN
    shape = part.type.shape
    return result(part.type.dtype, None if not shape else shape[1:])


def _count(value: Value) -> Dim:
    """The size of the first axis, from the first leaf for which it is known."""
    for leaf in leaves(value) or ():
        shape = operand(leaf).type.shape
        if shape and shape[0] is not None:
            return shape[0]
    return None


def _stacked(value: Value, count: Dim) -> Value:
    def one(leaf: Value) -> Value:
        part = operand(leaf)
        if not part.known or part.kind is TensorKind.RAGGED:
            return UNKNOWN if not part.known else TensorValue(TensorType(part.type.dtype), TensorKind.RAGGED)
        shape = part.type.shape
        return result(part.type.dtype, None if shape is None else (count, *shape))

    return map_structure(one, value)


def _map_fn(call: BoundCall) -> Value:
    function, elems = call.argument("fn"), call.argument("elems")
    if function is None or elems is None:
        return UNKNOWN
    count = _count(elems)
    # the others run eagerly if called eagerly; this one is always traced
    made = call.invoke(function, (map_structure(_row, elems),), graph=call.name.endswith("vectorized_map"))
    signature = argument(call, "fn_output_signature", "dtype")
    if signature is None or call.name.endswith("vectorized_map"):
        return _stacked(made, count)
    stacked, declared = _stacked(made, count), map_structure(lambda leaf: _declared(leaf, count), signature)
    if is_structure(made) or declared == UNKNOWN:
        return stacked
    if isinstance(stacked, TensorValue) and isinstance(declared, TensorValue) and declared.kind is TensorKind.TENSOR:
        shape = meet_shapes(stacked.type.shape, declared.type.shape)
        return result(declared.type.dtype or stacked.type.dtype, shape)
    return declared


def _declared(leaf: Value, count: Dim) -> Value:
    if isinstance(leaf, SpecValue):
        if leaf.kind is not TensorKind.TENSOR:
            return TensorValue(TensorType(leaf.type.dtype), leaf.kind)
        return result(leaf.type.dtype, None if leaf.type.shape is None else (count, *leaf.type.shape))
    # an unknown value may declare a structure, too
    return UNKNOWN if any(isinstance(each, UnknownValue) for each in members(leaf)) else result(tensor_dtype(leaf))


def minimize(call: BoundCall) -> Value:
    """An optimizer's `minimize` calls its loss, if it is a function, under its own tape."""
    loss = call.argument("loss")
    if loss is not None and not isinstance(loss, TensorValue):
        call.invoke(loss, ())
    return UNKNOWN


def _run_program(call: BoundCall) -> Value:
    """absl's `app.run(main)` calls `main` once, with the command-line arguments."""
    main = call.argument("main") or call.extra_keywords.get("main") or next(iter(call.extra_arguments), None)
    if main is not None and not is_none(main):
        call.invoke(main, (FrozenList(None, UNKNOWN_STR),))
    return NONE


def _scan(call: BoundCall) -> Value:
    elems, initial = call.argument("elems"), call.argument("initializer")
    if elems is None:
        return UNKNOWN
    state = (
        map_structure(_row, elems) if is_none(initial) or initial is None else map_structure(_without_content, initial)
    )
    function = call.argument("fn")
    if function is not None:
        after = map_structure(_without_content, call.invoke(function, (state, map_structure(_row, elems))))
        if not is_structure(state) and isinstance(after, TensorValue):
            state = _joined(state, after)
    if call.name.endswith("scan"):
        return _stacked(state, _count(elems))
    return state


def _callback(call: BoundCall) -> Value:
    """`tf.py_function`: dtypes as declared, shapes unknown."""
    declared = call.argument("Tout")
    if declared is None or isinstance(declared, UnknownValue):
        return UNKNOWN
    if elements(declared) == ():
        return FrozenList(())

    def one(leaf: Value) -> Value:
        if isinstance(leaf, SpecValue):
            return TensorValue(leaf.type, leaf.kind)
        return result(tensor_dtype(leaf))

    made = map_structure(one, declared)
    return FrozenList(made.elements) if isinstance(made, TupleValue) and not made.fields else made


# --- gradients ------------------------------------------------------------------------------------------------------------------


def _gradient_of(source: Value) -> Value:
    if isinstance(source, TensorValue):
        return result(source.type.dtype, source.type.shape)
    return UNKNOWN if not is_structure(source) else source


def _gradient(call: BoundCall) -> Value:
    sources = argument(call, "sources", "source", "xs")
    if sources is None:
        return UNKNOWN
    made = map_structure(_gradient_of, sources)
    if call.name.endswith("gradients"):
        return FrozenList((made,)) if not is_structure(made) else made
    return made


def _jacobian(call: BoundCall) -> Value:
    target, sources = call.argument("target"), argument(call, "sources", "source")
    if target is None or sources is None:
        return UNKNOWN
    rows = operand(target).type.shape
    batch = call.name.endswith("batch_jacobian")

    def one(source: Value) -> Value:
        if not batch and not isinstance(source, TensorValue):
            # as many tensors as sources, in the same structure
            return _gradient_of(source)
        part = operand(source)
        shape: Shape = None
        if rows is not None and part.type.shape is not None:
            shape = (*rows, *part.type.shape[1:]) if batch else (*rows, *part.type.shape)
        return result(part.type.dtype, shape)

    return map_structure(one, sources)


# --- tensor arrays --------------------------------------------------------------------------------------------------------------


def _element_type(call: BoundCall) -> TensorType:
    wanted, shape = call.configuration.get("dtype"), call.configuration.get("element_shape")
    if is_none(shape):
        # the written elements, on paths with a write (see `analysis.transfer.tensor_arrays`)
        written = [member for member in members(call.configuration.get("written", UNKNOWN)) if member != UNBOUND]
        shape = written[0] if len(written) == 1 and isinstance(written[0], ShapeValue) else ShapeValue(None)
    return TensorType(tensor_dtype(wanted), shape_argument(shape))


def _array_itself(call: BoundCall) -> Value:
    return UNKNOWN if call.receiver is None else call.receiver


def _array_read(call: BoundCall) -> Value:
    found = _element_type(call)
    return result(found.dtype, found.shape)


def _array_length(call: BoundCall) -> Dim:
    """The number of elements of an array: its initial size, unless it may grow and may have been written beyond that."""
    dynamic = call.configuration.get("dynamic_size")
    fixed = is_none(dynamic) or truth(call.configuration["dynamic_size"]) is False
    within = {TRUE}.issuperset(set(members(call.configuration.get("within", FALSE))) - {UNBOUND})
    return integer(call.configuration.get("size")) if fixed or within else None


def _array_stack(call: BoundCall) -> Value:
    found = _element_type(call)
    count: Dim = None
    if call.name.endswith("gather"):
        indices = operand(call.argument("indices")).type.shape
        count = indices[0] if indices else None
    else:
        dynamic = call.configuration.get("dynamic_size")
        grows = not is_none(dynamic) and truth(dynamic) is not False
        is_open = grows or isinstance(call.configuration.get("size"), TensorValue)
        count = opened(_array_length(call), EVERYWHERE if is_open else 0, Why.CONTENT)
    return result(found.dtype, None if found.shape is None else (count, *found.shape))


def _array_concat(call: BoundCall) -> Value:
    found = _element_type(call)
    return result(found.dtype, None if not found.shape else (None, *found.shape[1:]))


# --- the rest -------------------------------------------------------------------------------------------------------------------


def _always(value: Value) -> OperationRule:
    return lambda call: value


def opaque(call: BoundCall) -> Value:
    """An object of the library about which nothing else is known."""
    return UnknownValue(may_be_tensor=False, origin=Origin("library", call.name))


def _tensors_tuple(call: BoundCall) -> Value:
    tensors = call.argument("tensors")
    return UNKNOWN if tensors is None else map_structure(_without_content, tensors)


def _recomputed(call: BoundCall) -> Value:
    function = call.argument("f")
    return UNKNOWN if function is None else function


def _size(call: BoundCall) -> Value:
    known = _array_length(call)
    return result(INT32, (), Constant(known) if isinstance(known, int) else None)


_ASSERTIONS: Final = (
    "Assert assert_all_finite assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal assert_near "
    "assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive assert_proper_iterable assert_rank "
    "assert_rank_at_least assert_rank_in assert_scalar assert_shapes assert_type enable_check_numerics disable_check_numerics"
)
_FILES: Final[Mapping[str, Value]] = {
    "exists": UNKNOWN_BOOL,
    "isdir": UNKNOWN_BOOL,
    "copy": NONE,
    "makedirs": NONE,
    "mkdir": NONE,
    "remove": NONE,
    "rename": NONE,
    "rmtree": NONE,
    "glob": FrozenList(None, UNKNOWN_STR),
    "listdir": FrozenList(None, UNKNOWN_STR),
    "join": UNKNOWN_STR,
    "stat": NOT_A_TENSOR,
    "walk": NOT_A_TENSOR,
}
_SUMMARIES: Final = "scalar histogram image audio text write graph"
_NOTHING: Final = (
    "print control_dependencies name_scope device init_scope group no_op get_logger config.run_functions_eagerly variable_creator_scope "
    "config.experimental_run_functions_eagerly config.set_soft_device_placement config.experimental.set_memory_growth "
    "config.experimental_connect_to_cluster config.set_visible_devices config.set_logical_device_configuration summary.flush "
    "summary.create_file_writer summary.create_noop_writer summary.record_if summary.trace_on summary.trace_off summary.trace_export "
    "summary.experimental.set_step distribute.get_strategy distribute.get_replica_context tpu.experimental.initialize_tpu_system "
    "saved_model.load saved_model.save test.main nest.assert_same_structure get_current_name_scope "
    "summary.experimental.write_raw_pb autograph.set_verbosity autograph.experimental.set_loop_options "
    "io.write_graph load_library load_op_library graph_util.import_graph_def"
)
_NONE_RESULTS: Final = frozenset(
    {
        "print",
        "config.run_functions_eagerly",
        "config.experimental_run_functions_eagerly",
        "config.set_soft_device_placement",
        "config.experimental.set_memory_growth",
        "config.set_visible_devices",
        "config.set_logical_device_configuration",
        "summary.flush",
        "summary.trace_on",
        "summary.trace_off",
        "summary.trace_export",
        "summary.experimental.set_step",
        "saved_model.save",
        "nest.assert_same_structure",
        "autograph.set_verbosity",
        "autograph.experimental.set_loop_options",
    }
)
_FEATURE_COLUMNS: Final = (
    "bucketized_column categorical_column_with_hash_bucket categorical_column_with_identity categorical_column_with_vocabulary_file "
    "categorical_column_with_vocabulary_list crossed_column embedding_column indicator_column make_parse_example_spec numeric_column "
    "sequence_numeric_column shared_embeddings weighted_categorical_column"
)
_YES_OR_NO: Final = (
    "executing_eagerly inside_function distribute.has_strategy distribute.in_cross_replica_context config.functions_run_eagerly "
    "config.get_soft_device_placement debugging.is_numeric_tensor test.is_gpu_available test.is_built_with_cuda "
    "test.is_built_with_gpu_support compat.v1.executing_eagerly_outside_functions compat.v1.resource_variables_enabled "
    "config.experimental.tensor_float_32_execution_enabled python.tf2.enabled "
    "python.ops.control_flow_util.GraphOrParentsInXlaContext"
)
_ARRAY: Final = "tensorflow.TensorArray"
_TAPE: Final = "tensorflow.GradientTape"

RULES: Final[Mapping[str, OperationRule]] = {
    "tensorflow.python.util.nest.map_structure_up_to": _up_to,
    "tensorflow.nest.flatten": _flatten,
    "tensorflow.nest.pack_sequence_as": _pack,
    "tensorflow.nest.is_nested": _is_nested,
    "tensorflow.cond": _cond,
    "tensorflow.case": _case,
    "tensorflow.switch_case": _switch_case,
    "tensorflow.while_loop": _while_loop,
    "tensorflow.map_fn": _map_fn,
    "tensorflow.vectorized_map": _map_fn,
    "absl.app.run": _run_program,
    "tensorflow.compat.v1.app.run": _run_program,
    "tensorflow.scan": _scan,
    "tensorflow.foldl": _scan,
    "tensorflow.foldr": _scan,
    "tensorflow.py_function": _callback,
    "tensorflow.numpy_function": _callback,
    "tensorflow.compat.v1.py_func": _callback,
    "tensorflow.gradients": _gradient,
    "tensorflow.recompute_grad": _recomputed,
    "tensorflow.compat.v1.train.Optimizer.minimize": minimize,
    "tensorflow.tuple": _tensors_tuple,
    f"{_TAPE}.gradient": _gradient,
    f"{_TAPE}.jacobian": _jacobian,
    f"{_TAPE}.batch_jacobian": _jacobian,
    f"{_TAPE}.watch": _always(NONE),
    f"{_TAPE}.reset": _always(NONE),
    f"{_TAPE}.stop_recording": _always(NOT_A_TENSOR),
    **{f"{_ARRAY}.{name}": _array_itself for name in ("write", "unstack", "scatter", "split", "identity", "close")},
    f"{_ARRAY}.read": _array_read,
    f"{_ARRAY}.stack": _array_stack,
    f"{_ARRAY}.gather": _array_stack,
    f"{_ARRAY}.concat": _array_concat,
    f"{_ARRAY}.size": _size,
    **{f"tensorflow.{name}": _always(UNKNOWN_BOOL) for name in _YES_OR_NO.split()},
    **{f"tensorflow.feature_column.{name}": opaque for name in _FEATURE_COLUMNS.split()},
    "tensorflow.Module.__init__": _always(NONE),
    "tensorflow.python.util.nest.assert_shallow_structure": _always(NONE),
    "tensorflow.python.util.nest.flatten_up_to": _always(FrozenList(None, UNKNOWN)),
    "tensorflow.config.list_physical_devices": _always(FrozenList(None, NOT_A_TENSOR)),
    "tensorflow.config.list_logical_devices": _always(FrozenList(None, NOT_A_TENSOR)),
    "tensorflow.config.get_visible_devices": _always(FrozenList(None, NOT_A_TENSOR)),
    "tensorflow.train.latest_checkpoint": _always(NOT_A_TENSOR),
    "tensorflow.train.list_variables": _always(FrozenList(None, NOT_A_TENSOR)),
    "tensorflow.compat.as_text": _always(UNKNOWN_STR),
    "tensorflow.compat.as_str": _always(UNKNOWN_STR),
    "tensorflow.compat.as_str_any": _always(UNKNOWN_STR),
    "tensorflow.compat.path_to_str": _always(UNKNOWN_STR),
    **{f"tensorflow.debugging.{name}": _always(NONE) for name in _ASSERTIONS.split()},
    **{f"tensorflow.io.gfile.{name}": _always(value) for name, value in _FILES.items()},
    **{f"tensorflow.summary.{name}": _always(result(BOOL, ())) for name in _SUMMARIES.split()},
    **{f"tensorflow.{name}": _always(NONE) if name in _NONE_RESULTS else opaque for name in _NOTHING.split()},
}
