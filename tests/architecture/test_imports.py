"""The rooms and their order: a room may import the rooms above it, never below."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).parents[2]

BOOTSTRAP = "bootstrap"
"""The first script of child processes, which no module imports."""

LEAVES = ("errors", "config", "isolation", "generated_methods", "methods_of_classes")
"""Modules that every room may import. They import nothing but each other."""

ROOMS = (
    "record",
    "syntax",
    "domain",
    "ir",
    "tf_model",
    "analysis",
    "facts",
    "rules",
    "classify",
    "refactor",
    "verify",
    "workspace",
    "ide",
    "report",
    "batch",
    "cli",
)
"""From the top down."""

SEALED = {"domain": {"errors"}, "runtime": set[str]()}
"""Rooms that may import only these. No room imports `runtime`."""

CHILDREN = (ROOT / "terra_refactor" / "verify" / "child", ROOT / "terra_refactor" / "record" / "child")
"""Code that runs in its own processes, under the user's interpreter: it may use TensorFlow and NumPy, and
nothing of this project but itself."""

LSP_MAY_IMPORT = {"workspace", "ide", "rules", "report", "syntax", "errors", "config", "isolation", "generated_methods"}


@cache
def parts_of(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, ...], tuple[tuple[str, int], ...]]:
    """The imports of a file and its texts with their lines, those inside functions included; each file is parsed once."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imports = tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    constants = (node for node in nodes if isinstance(node, ast.Constant))
    return imports, tuple((node.value, node.lineno) for node in constants if isinstance(node.value, str))


def imports_of(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return parts_of(path)[0]


def texts_of(path: Path) -> tuple[tuple[str, int], ...]:
    return parts_of(path)[1]


def imported_rooms(path: Path) -> Iterator[tuple[str, int]]:
    """The rooms of `terra_refactor` that a file imports, with the line; imports inside functions count, too."""
    for node in imports_of(path):
        names: list[str] = []
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom(level=0):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            case ast.ImportFrom():
                raise AssertionError(f"{path}:{node.lineno}: relative import")
        for name in names:
            package, *rest = name.split(".")
            if package == "terra_refactor" and rest and rest[0] != "__version__":
                yield rest[0], node.lineno


def files_of(room: str) -> list[Path]:
    folder = ROOT / "terra_refactor" / room
    return sorted(folder.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "terra_refactor").parts[0].removesuffix(".py")


def may_import(room: str) -> set[str]:
    if room in SEALED:
        return {room, *SEALED[room]}
    return {room, *LEAVES, *ROOMS[: ROOMS.index(room)]}


ALL_FILES = sorted((ROOT / "terra_refactor").rglob("*.py"))


def test_every_folder_is_a_known_room() -> None:
    rooms = {room_of(path) for path in ALL_FILES} - {"__init__", "__main__", *LEAVES}
    assert rooms <= {*ROOMS, *SEALED, BOOTSTRAP}


@pytest.mark.parametrize("room", sorted({*ROOMS, *SEALED}))
def test_a_room_imports_only_rooms_above_it(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {room} imports {imported}"
        for path in files_of(room)
        for imported, line in imported_rooms(path)
        if imported not in may_import(room)
    ]
    assert not wrong, "\n".join(wrong)


def test_leaves_import_only_leaves() -> None:
    for leaf in LEAVES:
        path = ROOT / "terra_refactor" / f"{leaf}.py"
        assert {imported for imported, _ in imported_rooms(path)} <= set(LEAVES)


def test_the_package_imports_no_room_until_ipython_asks() -> None:
    package = ROOT / "terra_refactor" / "__init__.py"
    hook = next(
        node for node in ast.parse(package.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
    )
    assert hook.name == "load_ipython_extension"
    (only,) = imported_rooms(package)
    assert only[0] == "ide"
    assert hook.lineno < only[1] <= (hook.end_lineno or 0)


def test_the_language_server_stays_at_the_front_door() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {imported}"
        for path in sorted((ROOT / "lsp_server").rglob("*.py"))
        for imported, line in imported_rooms(path)
        if imported not in LSP_MAY_IMPORT
    ]
    assert not wrong, "\n".join(wrong)


def test_no_room_imports_tensorflow() -> None:
    for path in ALL_FILES:
        if room_of(path) == "runtime" or any(child in path.parents for child in CHILDREN):
            continue
        for node in imports_of(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            assert not {name.split(".")[0] for name in names} & {"tensorflow", "keras"}, f"{path}:{node.lineno}"


def test_what_runs_under_the_users_interpreter_stands_alone() -> None:
    for path in sorted(path for child in CHILDREN for path in child.glob("*.py")):
        own = f"terra_refactor.{room_of(path)}.child"
        for node in imports_of(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for name in names:
                top = name.split(".")[0]
                allowed = top in sys.stdlib_module_names or top in ("numpy", "tensorflow", "__future__")
                assert allowed or name.startswith(own), f"{path}:{node.lineno}: {name}"


OPERATIONS = ("terra_refactor.ir.ops", "terra_refactor.ir.walk")


@pytest.mark.parametrize("room", ["rules", "classify"])
def test_rules_and_decisions_ask_for_facts_and_look_at_no_operations(room: str) -> None:
    looking = {
        str(path.relative_to(ROOT))
        for path in files_of(room)
        for node in imports_of(path)
        for name in imported_names(node)
        if name.startswith(OPERATIONS)
    }
    assert not looking, "these take operations apart; what they ask is a fact (terra_refactor/facts)"


def test_a_rules_id_stands_in_its_file_only() -> None:
    named = {
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in ALL_FILES
        if room_of(path) != "rules"
        for text, line in texts_of(path)
        if re.fullmatch(r"TR\d{3}", text)
    }
    assert not named, "import the `RULE` of the rule's file, or ask for what it says of itself"


TEXTS = {"message", "reason", "assumption", "sentence"}
"""Attributes with texts for readers."""
TAKING_APART = {"startswith", "endswith", "partition", "rpartition", "split", "search", "match", "fullmatch", "findall"}


@pytest.mark.parametrize("room", sorted({*ROOMS, *SEALED} - {"syntax", "runtime"}))
def test_nothing_is_decided_by_the_text_of_a_message(room: str) -> None:
    taken_apart = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in files_of(room)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.expr) and takes_text_apart(node)
    ]
    assert not taken_apart, "a reason carries what is asked of it as data (`rules.rule.Subject`, `decision.GraphPays`)"


def takes_text_apart(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=arguments) if name in TAKING_APART:
            return any(is_text(each) for each in (value, *arguments))
        case ast.Compare(comparators=[compared], ops=[ast.In() | ast.NotIn()]):
            return is_text(compared)
    return False


def is_text(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr in TEXTS) or (isinstance(node, ast.Name) and node.id in TEXTS)


def test_the_test_of_texts_sees_them() -> None:
    seen = ("re.search('x', hazard.message)", "'x' in message", "decision.reason.startswith('x')", "FORM.match(reason)")
    assert all(takes_text_apart(ast.parse(text, mode="eval").body) for text in seen)
    assert not takes_text_apart(ast.parse("found.startswith('x') or 'x' in names", mode="eval").body)


LIBRARIES = {
    *(sys.stdlib_module_names | {"builtins", "tensorflow", "tf_keras", "tensorflow_probability", "keras", "numpy"}),
    *("attr", "attrs", "absl", "jaxtyping", "omegaconf", "pandas", "pytest", "scipy", "toml", "torch", "yaml"),
}


@pytest.mark.parametrize("room", ["analysis", "facts", "rules", "classify"])
def test_library_names_stand_in_the_model_of_libraries_only(room: str) -> None:
    named = {
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in files_of(room)
        for text, line in texts_of(path)
        if names_library(text)
    }
    assert not named, (
        "what is asked of a library function is a trait of it (`graph_traits`, `interpreted`, `class_names`)"
    )


def names_library(text: str) -> bool:
    """Whether a text consists of dotted names, one of them of a library."""
    words = text.split()
    form = r"[A-Za-z_]\w*(\.\w+)+(\(\))?" if len(words) > 1 else r"[A-Za-z_]\w*(\.\w+)*\.?(\(\))?"
    is_list = all(re.fullmatch(form, word) for word in words)
    return is_list and any("." in word and word.split(".")[0] in LIBRARIES for word in words)


def test_the_test_of_library_names_sees_them() -> None:
    assert all(map(names_library, ("tensorflow.", "json.load yaml.load", "functools.wraps()", "keras.Model")))
    assert not any(map(names_library, ("tensorflow", "self.keras.x", "a tf.function", "see numpy.sum")))


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names]


@pytest.mark.parametrize("module", ["terra_refactor", "terra_refactor.runtime"])
def test_importing_loads_no_other_room(module: str) -> None:
    probe = (
        f"import sys, {module}\n"
        "print(*sorted(name for name in sys.modules if name.startswith('terra_refactor.') or name == 'tensorflow'))"
    )
    finished = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.split(".")[1] for name in finished.stdout.split() if "." in name}
    assert loaded <= ({"runtime"} if module.endswith("runtime") else set())
    assert "tensorflow" not in finished.stdout.split()


def files_imported(path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    """The modules of this project that a file imports, by name: for type checkers only and inside functions, too."""
    for node in imports_of(path):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            known = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
            if (module := next((each for each in known if each in files), None)) is not None:
                yield module


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("room", [*sorted({*ROOMS, *SEALED}), "lsp_server"])
def test_no_files_of_a_room_import_each_other_in_a_circle(room: str) -> None:
    folder = ROOT / "lsp_server" if room == "lsp_server" else ROOT / "terra_refactor" / room
    files = {module_of(path): path for path in sorted(folder.rglob("*.py"))}
    assert files
    graph = networkx.DiGraph()
    for name, path in files.items():
        graph.add_edges_from((name, imported) for imported in files_imported(path, files) if imported != name)
    circles = [sorted(component) for component in networkx.strongly_connected_components(graph) if len(component) > 1]
    assert not circles, circles


def test_only_the_driver_knows_the_interpreter() -> None:
    interpreter = "terra_refactor.analysis.interpreter"
    files = {module_of(path): path for path in ALL_FILES}
    assert [name for name, path in files.items() if interpreter in files_imported(path, files)] == [
        "terra_refactor.analysis.driver"
    ]


def test_no_file_is_too_long_to_read() -> None:
    paths = [*ALL_FILES, *(ROOT / "lsp_server").rglob("*.py")]
    long = [str(path.relative_to(ROOT)) for path in paths if path.read_text(encoding="utf-8").count("\n") > 700]
    assert not long


MIRRORED = {"Argument", "Call", "Handler", "Literal", "NextItem", "Raise", "Return"}
"""Operations of the IR (`ir/ops.py`) and the facts of the same names that rules see of them (`facts/records.py`)."""


IN_EACH_MODULE = {
    "ATTRIBUTES",
    "HANDLERS",
    "LOGGER",
    "METHODS",
    "RULE",
    "RULES",
    "TYPE_CHECKING",
    "WEIGHTS",
    "check",
    "main",
    "register",
}
"""What a registry or a package looks up in each of its modules: the same thing everywhere."""


def test_a_public_name_stands_for_one_thing() -> None:
    named: dict[str, list[str]] = {}
    for path in [*ALL_FILES, *(ROOT / "lsp_server").rglob("*.py")]:
        if path.relative_to(ROOT).parts[1] == "runtime" or any(child in path.parents for child in CHILDREN):
            continue  # they stand alone: no room knows their names
        for name in names_defined(path):
            if not name.startswith("_") and name not in MIRRORED | IN_EACH_MODULE:
                named.setdefault(name, []).append(module_of(path))
    assert named
    assert {name: modules for name, modules in named.items() if len(modules) > 1} == {}


def names_defined(path: Path) -> Iterator[str]:
    """The classes, functions, aliases and constants of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
