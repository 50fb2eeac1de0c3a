"""Module names and what imports mean, for the layouts that repositories have."""

from __future__ import annotations

import random

import pytest

from terra_refactor.syntax.modules import build_module_index
from terra_refactor.syntax.package_dirs import read_package_dirs
from terra_refactor.syntax.path_edits import read_path_additions
from terra_refactor.syntax.source import source_from_text

REPOSITORY = (
    "setup.py",
    "src/pkg/__init__.py",
    "src/pkg/a.py",
    "src/pkg/sub/__init__.py",
    "src/pkg/sub/b.py",
    "src/pkg/sub/b.pyi",
    "tests/conftest.py",
    "tests/test_a.py",
    "scripts/run.py",
    "scripts/lib.py",
    "examples/kit/__init__.py",
    "examples/kit/x.py",
    "examples/go.py",
    "ns/inner/q.py",
    "study.ipynb",
)
INDEX = build_module_index(REPOSITORY)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/pkg/__init__.py", "pkg"),
        ("src/pkg/a.py", "pkg.a"),
        ("src/pkg/sub/b.py", "pkg.sub.b"),
        ("tests/test_a.py", "tests.test_a"),
        ("scripts/run.py", "scripts.run"),
        ("examples/kit/x.py", "examples.kit.x"),
        ("study.ipynb", "study"),
    ],
)
def test_names(path: str, name: str) -> None:
    assert INDEX.module_of(path).name == name


@pytest.mark.parametrize(
    ("importer", "name", "level", "path"),
    [
        ("src/pkg/a.py", "", 1, "src/pkg/__init__.py"),
        ("src/pkg/a.py", "sub", 1, "src/pkg/sub/__init__.py"),
        ("src/pkg/__init__.py", "a", 1, "src/pkg/a.py"),
        ("src/pkg/sub/__init__.py", "b", 1, "src/pkg/sub/b.py"),
        ("src/pkg/sub/__init__.py", "a", 2, "src/pkg/a.py"),
        ("src/pkg/sub/b.py", "a", 2, "src/pkg/a.py"),
        ("src/pkg/sub/b.py", "a", 3, None),
        ("src/pkg/a.py", "a", 0, None),
        ("tests/test_a.py", "pkg.sub.b", 0, "src/pkg/sub/b.py"),
        ("tests/test_a.py", "conftest", 0, "tests/conftest.py"),
        ("scripts/run.py", "lib", 0, "scripts/lib.py"),
        ("scripts/run.py", "scripts.lib", 0, "scripts/lib.py"),
        ("tests/test_a.py", "lib", 0, None),
        ("examples/go.py", "kit.x", 0, "examples/kit/x.py"),
        ("examples/kit/x.py", "kit", 0, "examples/kit/__init__.py"),
        ("study.ipynb", "ns.inner.q", 0, "ns/inner/q.py"),
        ("study.ipynb", "numpy", 0, None),
        ("study.ipynb", "os.path", 0, None),
        ("study.ipynb", "study", 0, None),
        ("scripts/run.py", "study", 0, None),
    ],
)
def test_imports(importer: str, name: str, level: int, path: str | None) -> None:
    assert INDEX.resolve_path(importer, name, level) == path
    resolved = INDEX.resolve(importer, name, level)
    assert resolved == (INDEX.module_of(path).name if path is not None else None)


def test_namespace_packages_have_a_name_and_no_file() -> None:
    assert INDEX.resolve("scripts/run.py", "ns.inner") == "ns.inner"
    assert INDEX.resolve_path("scripts/run.py", "ns.inner") is None
    assert INDEX.submodules("pkg") == ("pkg.a", "pkg.sub")


def test_an_installed_package_goes_before_a_folder_of_its_name() -> None:
    files = ["tensorflow/gan/main.py", "torch/__init__.py", "torch/nn.py", "numpy.py", "run.py"]
    installed = {"tensorflow", "torch", "numpy"}
    index = build_module_index(files, is_installed=installed.__contains__)
    for importer in files:
        assert index.resolve(importer, "tensorflow") is None
        assert index.resolve(importer, "tensorflow.gan.main") is None
    assert index.resolve_path("run.py", "torch.nn") == "torch/nn.py"
    assert index.resolve_path("run.py", "numpy") == "numpy.py"
    assert build_module_index(files).resolve("run.py", "tensorflow") == "tensorflow"


def test_one_name_under_several_roots() -> None:
    index = build_module_index(
        ["one/src/pkg/a.py", "two/src/pkg/a.py", "one/src/pkg/__init__.py", "two/src/pkg/__init__.py", "one/src/b.py"]
    )
    assert index.paths_of("pkg.a") == ("one/src/pkg/a.py", "two/src/pkg/a.py")
    assert index.resolve_path("two/src/pkg/a.py", "pkg.a") == "two/src/pkg/a.py"
    assert index.resolve_path("one/src/b.py", "pkg.a") == "one/src/pkg/a.py"


def test_a_folder_src_from_which_imports_start() -> None:
    """`python -m src.train`, without a project file that would make the folder around `src` a root."""
    files = ["r/src/train.py", "r/src/models/vae.py", "r/src/models/__init__.py", "r/src/tensorflow/run.py"]
    index = build_module_index(files, bases=["r"], is_installed={"tensorflow"}.__contains__)
    for name in ("src.models.vae", "models.vae"):
        assert index.resolve_path("r/src/train.py", name) == "r/src/models/vae.py"
        assert index.resolve("r/src/train.py", name) == "models.vae"
    assert index.resolve_path("r/src/models/vae.py", "src.train") == "r/src/train.py"
    assert index.resolve("r/src/train.py", "tensorflow.run") is None
    assert index.resolve("r/src/train.py", "r.src.train") is None


def test_scripts_inside_of_a_package() -> None:
    """`python run.py` in the folder of a package, whose files import each other by their own names."""
    files = ["r/lander/__init__.py", "r/lander/run.py", "r/lander/trainer.py", "r/lander/gym.py", "r/lander/queue.py"]
    files += ["r/lander/nets/__init__.py", "r/lander/nets/actor.py", "r/other/__init__.py", "r/other/user.py"]
    installed = {"tensorflow"}.__contains__
    index = build_module_index(files, bases=["r"], scripts=["r/lander/run.py"], is_installed=installed)
    for importer in ("r/lander/run.py", "r/lander/nets/actor.py"):
        assert index.resolve_path(importer, "trainer") == "r/lander/trainer.py"
        assert index.resolve(importer, "trainer") == "lander.trainer"
        assert index.resolve(importer, "queue") is None
        assert index.resolve(importer, "unknown") is None
    assert index.resolve_path("r/lander/run.py", "nets.actor") == "r/lander/nets/actor.py"
    assert index.resolve("r/lander/gym.py", "gym") is None
    assert index.resolve("r/other/user.py", "trainer") is None
    assert build_module_index(files, bases=["r"]).resolve("r/lander/run.py", "trainer") is None


def test_a_folder_of_a_package_on_the_path() -> None:
    """`PYTHONPATH=src python src/training/run.py`, where `src` is a package too: names with dots tell the folder."""
    folders = ("src", "src/agents", "src/agents/rl", "src/training", "src/wandb")
    files = [f"r/{folder}/__init__.py" for folder in folders]
    files += ["r/src/agents/rl/base.py", "r/src/agents/rl/dqn.py", "r/src/training/run.py", "r/src/xml/parsers.py"]
    installed = {"tensorflow", "yaml"}.__contains__
    files += ["r/src/tensorflow/keras.py"]
    index = build_module_index(files, bases=["r"], is_installed=installed)
    for importer in ("r/src/agents/rl/dqn.py", "r/src/training/run.py"):
        assert index.resolve_path(importer, "agents.rl.base") == "r/src/agents/rl/base.py"
        assert index.resolve(importer, "agents.rl.base") == "src.agents.rl.base"
        for other in ("wandb", "base", "agents.rl.other", "tensorflow.keras", "xml.parsers"):
            assert index.resolve(importer, other) is None
    assert index.resolve_path("r/src/agents/rl/dqn.py", "rl.base") == "r/src/agents/rl/base.py"
    assert index.resolve("r/src/training/run.py", "rl.base") is None


def test_a_notebook_that_is_named_as_the_package_it_shows() -> None:
    index = build_module_index(["src/kit/__init__.py", "src/kit/core.py", "examples/kit.ipynb"])
    assert index.resolve_path("examples/kit.ipynb", "kit") == "src/kit/__init__.py"
    assert index.resolve_path("examples/kit.ipynb", "kit.core") == "src/kit/core.py"


def test_a_repository_elsewhere() -> None:
    index = build_module_index(
        ["../repo/pkg/__init__.py", "../repo/pkg/t.py", "../repo/s.py", "../repo/x/y.py"], bases=["../repo"]
    )
    assert [module.name for module in index.files.values()] == ["pkg", "pkg.t", "s", "x.y"]
    assert index.resolve_path("../repo/s.py", "pkg.t") == "../repo/pkg/t.py"


def test_the_order_of_the_files_does_not_matter() -> None:
    shuffled = list(REPOSITORY)
    random.Random(5).shuffle(shuffled)
    assert build_module_index(shuffled) == INDEX


def test_path_edits_of_a_script() -> None:
    text = """
import os, sys
from pathlib import Path
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "source"))
sys.path += ["vendor", os.environ["X"]]
sys.path = [Path(__file__).parent.joinpath("more")] + sys.path
sys.path.append(HERE + "/plus")
twice = "a"
twice = "b"
sys.path.append(twice)
circle = circle
sys.path.append(circle)
# sys.path.append("comment")
"""
    additions = read_path_additions(source_from_text(text, "scripts/run.py"))
    assert additions == ("lib", "source", "vendor", "scripts/more", "scripts/plus")
    index = build_module_index(
        ["scripts/run.py", "lib/deep.py", "tests/t.py"], path_additions={"scripts/run.py": additions}
    )
    assert index.resolve_path("scripts/run.py", "deep") == "lib/deep.py"


@pytest.mark.parametrize(
    ("name", "text", "roots"),
    [
        ("pyproject.toml", '[tool.setuptools]\npackage-dir = {"" = "lib"}\n', ("sub/lib",)),
        ("pyproject.toml", '[tool.setuptools.packages.find]\nwhere = ["src", "."]\n', ("sub/src", "sub")),
        ("pyproject.toml", '[tool.poetry]\npackages = [{include = "p", from = "python"}]\n', ("sub/python",)),
        ("pyproject.toml", '[tool.hatch.build.targets.wheel]\npackages = ["lib/p"]\n', ("sub/lib",)),
        ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["helpers"]\n', ("sub/helpers",)),
        ("pyproject.toml", "[tool.setuptools]\npackage-dir = 3\n", ()),
        ("pyproject.toml", "[[[", ()),
        ("setup.cfg", "[options]\npackage_dir =\n    = source\n", ("sub/source",)),
        ("setup.cfg", "[options.packages.find]\nwhere = src\n", ("sub/src",)),
        ("setup.cfg", "no section", ()),
    ],
)
def test_declared_roots(name: str, text: str, roots: tuple[str, ...]) -> None:
    assert read_package_dirs(name, text, "sub") == roots


def test_a_declared_root_names_its_modules() -> None:
    index = build_module_index(["python/p/__init__.py", "python/p/a.py", "setup.py"], package_dirs=["python"])
    assert index.module_of("python/p/a.py").name == "p.a"
