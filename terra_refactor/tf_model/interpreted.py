"""The library functions whose calls the analysis runs itself: they use the heap, call functions, or create objects.

Computes: nothing. Gives: `Interpreted`, with the canonical names of the functions that behave alike, and `by_name`. The
behaviour is in `analysis/transfer`. Names that end in `()` are those of results, such as that of `functools.wraps(f)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, unique
from typing import Final, TypeVar

from terra_refactor.tf_model.name_table import within

_T = TypeVar("_T")
_LISTS: Final = ("builtins.list", "collections.deque")
_DICTS: Final = ("builtins.dict", "collections.OrderedDict", "collections.defaultdict")
_MAPPINGS: Final = (*_DICTS, "collections.Counter")
_SETS: Final = ("builtins.set",)
_INI: Final = "configparser.RawConfigParser"
PATH: Final = "pathlib.Path"


def _of(owners: Iterable[str], methods: str) -> str:
    return " ".join(within(owner, methods) for owner in owners)


@unique
class Interpreted(Enum):
    """Functions that behave alike, by canonical names."""

    # containers
    APPEND = f"{_of(_LISTS, 'append')} collections.deque.appendleft"
    EXTEND = f"{_of(_LISTS, 'extend')} collections.deque.extendleft"
    INSERT = _of(_LISTS, "insert")
    POP = f"{_of(_LISTS, 'pop')} collections.deque.popleft {_of(_MAPPINGS, 'pop popitem')}"
    CLEAR = f"{_of(_LISTS, 'clear')} {_of(_MAPPINGS, 'clear')}"
    REMOVE_UNCOMPARED = "collections.deque.remove"
    REMOVE = "builtins.list.remove"
    FIND = f"{_of(('builtins.list', 'builtins.tuple'), 'count index')}"
    SORT = "builtins.list.sort"
    REORDER = f"{_of(_LISTS, 'reverse')} collections.deque.rotate collections.OrderedDict.move_to_end {_of(_SETS, 'discard remove')}"
    ADD = _of(_SETS, "add")
    UPDATE = f"{_of(_SETS, 'update')} {_of(_DICTS, 'update')}"
    RECOUNT = _of(("collections.Counter",), "update subtract")
    SET_DEFAULT = _of(_MAPPINGS, "setdefault")
    GET = _of(_MAPPINGS, "get")
    KEYS = _of(_MAPPINGS, "keys")
    VALUES = _of(_MAPPINGS, "values")
    ITEMS = _of(_MAPPINGS, "items")
    COPY_CONTAINER = _of((*_LISTS, *_MAPPINGS, *_SETS), "copy")
    COPY = "copy.copy"
    COPY_DEEPLY = "copy.deepcopy"
    LIST = "builtins.list"
    TUPLE = "builtins.tuple"
    SET = "builtins.set"
    FROZENSET = "builtins.frozenset"
    DICT = "builtins.dict"
    ORDERED_DICT = "collections.OrderedDict"
    DEFAULT_DICT = "collections.defaultdict"
    COUNTER = "collections.Counter"
    DEQUE = "collections.deque"
    # decorators and classes
    PROPERTY = "builtins.property abc.abstractproperty"
    PROPERTY_SETTER = "builtins.property.setter"
    PROPERTY_OTHER = "builtins.property.deleter builtins.property.getter"
    STATIC_METHOD = "builtins.staticmethod"
    CLASS_METHOD = "builtins.classmethod"
    CACHED_PROPERTY = "functools.cached_property"
    PARTIAL = "functools.partial functools.partialmethod"
    WRAPS = "functools.wraps"
    WRAPPED = "functools.wraps()"
    UNCHANGED = "abc.abstractmethod typing.overload"
    METHOD_CALLER = "operator.methodcaller"
    CALL_METHOD = "operator.methodcaller()"
    ATTRIBUTE_GETTER = "operator.attrgetter"
    GET_ATTRIBUTES = "operator.attrgetter()"
    TF_FUNCTION = "tensorflow.function"
    MAP_STRUCTURE = "tensorflow.nest.map_structure keras.tree.map_structure"
    DATACLASS = "dataclasses.dataclass attr.s attr.attrs attrs.define attrs.frozen attr.define"
    DATACLASS_FIELD = "dataclasses.field"
    NAMED_TUPLE = "collections.namedtuple"
    TYPED_NAMED_TUPLE = "typing.NamedTuple"
    REPLACE_RECORD = "typing.NamedTuple._replace"
    OBJECT_INIT = "builtins.object.__init__ builtins.object.__init_subclass__"
    OBJECT_NEW = "builtins.object.__new__"
    OBJECT_SETATTR = "builtins.object.__setattr__"
    SUPER = "builtins.super"
    # questions and attributes
    ISINSTANCE = "builtins.isinstance"
    ISSUBCLASS = "builtins.issubclass"
    LEN = "builtins.len"
    CALLABLE = "builtins.callable"
    TYPE = "builtins.type"
    ANY = "builtins.any"
    ALL = "builtins.all"
    GETATTR = "builtins.getattr"
    SETATTR = "builtins.setattr"
    HASATTR = "builtins.hasattr"
    TRUTH = "operator.truth operator.not_"
    CONTAINS = "operator.contains"
    IS_TENSOR = "tensorflow.is_tensor"
    # iteration and order
    RANGE = "builtins.range"
    ZIP = "builtins.zip"
    ENUMERATE = "builtins.enumerate"
    MAP = "builtins.map"
    FILTER = "builtins.filter"
    REVERSED = "builtins.reversed"
    ITER = "builtins.iter"
    NEXT = "builtins.next"
    SUM = "builtins.sum"
    REDUCE = "functools.reduce"
    SORTED = "builtins.sorted"
    EXTREME = "builtins.min builtins.max"
    HEAP_OF_SECOND = "heapq.nlargest heapq.nsmallest"
    HEAP_PUSH = "heapq.heappush heapq.heappushpop heapq.heapreplace bisect.bisect bisect.bisect_left bisect.insort bisect.insort_left"
    HEAP_ORDER = "heapq.heapify heapq.heappop"
    HEAP_MERGE = "heapq.merge"
    PRODUCT = "itertools.product"
    CHAIN = "itertools.chain"
    CHAIN_FROM = "itertools.chain.from_iterable"
    SLICE = "itertools.islice"
    SAME_ELEMENTS = "itertools.cycle itertools.takewhile itertools.dropwhile itertools.filterfalse"
    COMPRESS = "itertools.compress"
    GROUPS = "itertools.groupby"
    REPEAT = "itertools.repeat"
    COUNT = "itertools.count"
    STARMAP = "itertools.starmap"
    ACCUMULATE = "itertools.accumulate"
    PAIRWISE = "itertools.pairwise"
    COMBINATIONS = "itertools.combinations itertools.combinations_with_replacement itertools.permutations"
    ZIP_LONGEST = "itertools.zip_longest"
    # names and modules
    GLOBALS = "builtins.globals"
    VARS = "builtins.vars"
    CAST = "typing.cast"
    IMPORT = "importlib.import_module"
    # objects that are handed on
    PROXY = "weakref.proxy"
    REFERENT = "weakref.ReferenceType.__call__"
    BOUND_METHOD = "types.MethodType"
    NAMESPACE = "types.SimpleNamespace"
    REPLACE_FIELDS = "dataclasses.replace copy.replace"
    TENSOR_CONVERSION = "tensorflow.register_tensor_conversion_function"
    # TensorFlow and Keras
    RUN_EAGERLY = "tensorflow.config.run_functions_eagerly tensorflow.config.experimental_run_functions_eagerly"
    IS_EAGER = "tensorflow.executing_eagerly"
    IS_IN_GRAPH = "tensorflow.inside_function"
    NUMPY_FUNCTION = "tensorflow.numpy_function tensorflow.compat.v1.py_func"
    PY_FUNCTION = "tensorflow.py_function"
    ARRAY_WRITE = "tensorflow.TensorArray.write"
    ARRAY_UNSTACK = "tensorflow.TensorArray.unstack"
    ARRAY_SCATTER = "tensorflow.TensorArray.scatter"
    ARRAY_SPLIT = "tensorflow.TensorArray.split"
    SET_WEIGHTS = "keras.layers.Layer.set_weights"
    GET_WEIGHTS = "keras.layers.Layer.get_weights"
    ALL_REDUCE = "tensorflow.distribute.ReplicaContext.all_reduce"
    # tests
    PARAMETRIZE = "pytest.mark.parametrize"
    PARAMETRIZED = "pytest.mark.parametrize()"
    PARAMETER_SET = "pytest.param"
    # files and settings
    MAKE_PATH = f"{PATH} pathlib.PurePath pathlib.PosixPath pathlib.PurePosixPath"
    JOIN_PATHS = "pathlib.PurePath.joinpath"
    RENAME_PATH = "pathlib.PurePath.with_name"
    SAME_PATH = within(PATH, "resolve absolute expanduser")
    READ_TEXT = f"{PATH}.read_text"
    WRITE_PATH = within(PATH, "write_text write_bytes unlink touch")
    JOIN_TEXTS = "os.path.join"
    FOLDER_TEXT = "os.path.dirname"
    SAME_TEXT = f"{within('os.path', 'abspath realpath normpath expanduser expandvars')} os.fspath builtins.str"
    OPEN = f"builtins.open codecs.open tensorflow.io.gfile.GFile {PATH}.open"
    SAVE_ARRAY = within("numpy", "save savetxt savez savez_compressed")
    LOAD_ARRAY = "numpy.load"
    LOAD_TABLE = "numpy.loadtxt numpy.genfromtxt"
    CSV_READER = "csv.reader"
    CSV_DICT_READER = "csv.DictReader"
    STRIP = "builtins.str.strip"
    LEFT_STRIP = "builtins.str.lstrip"
    RIGHT_STRIP = "builtins.str.rstrip"
    SPLIT = "builtins.str.split"
    SPLIT_LINES = "builtins.str.splitlines"
    LOAD_FILE = (
        "json.load yaml.load yaml.safe_load yaml.full_load yaml.unsafe_load toml.load tomllib.load tomli.load ujson.load "
        "simplejson.load commentjson.load hjson.load omegaconf.OmegaConf.load omegaconf.OmegaConf.from_cli "
        "omegaconf.OmegaConf.from_dotlist"
    )
    YAML_TEXT = "yaml.load yaml.safe_load"
    TOML_TEXT = "toml.loads tomllib.loads tomli.loads"
    SAME_ITEMS = (
        "types.SimpleNamespace argparse.Namespace easydict.EasyDict munch.Munch munch.munchify munch.DefaultMunch.fromDict "
        "box.Box addict.Dict ml_collections.ConfigDict ml_collections.config_dict.ConfigDict ml_collections.FrozenConfigDict "
        "omegaconf.OmegaConf.create omegaconf.OmegaConf.to_container"
    )
    JSON_TEXT = "json.loads"
    SET_ENVIRONMENT = f"{within('os.environ', 'setdefault update pop clear')} os.putenv os.unsetenv"
    READ_INI = within(_INI, "read read_file")
    READ_INI_TEXT = f"{_INI}.read_string"
    SET_INI = within(_INI, "read_dict set")
    GET_INI = f"{_INI}.get"
    GET_INI_INT = f"{_INI}.getint"
    GET_INI_FLOAT = f"{_INI}.getfloat"
    GET_INI_BOOL = f"{_INI}.getboolean"
    GET_ENVIRONMENT = "os.environ.get os.getenv"

    @property
    def names(self) -> tuple[str, ...]:
        """The canonical names."""
        return tuple(self.value.split())

    @property
    def name_of_function(self) -> str:
        """The canonical name of the only, or most usual, function."""
        return self.names[0]


def by_name(handlers: Mapping[Interpreted, _T]) -> dict[str, _T]:
    """The handlers by canonical name."""
    return {name: handler for functions, handler in handlers.items() for name in functions.names}
