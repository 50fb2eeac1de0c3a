"""From paths to module names, and from imports to modules.

Computes: the import roots of a repository, the dotted name of every file, and the file of an import.
Needs: the list of files; of scripts that change `sys.path`, their trees; of `pyproject.toml`, its package folders.
Gives: `ModuleIndex`. Ignores: packages installed outside of the repository (an import without a file is external, None).

A root is a folder from which imports are looked up. Roots come, in this order of preference, from 1. `package-dir` of
the build configuration, and `src/` folders; 2. the folder of the topmost package (the topmost folder with
`__init__.py`) of a file; 3. the folder of a script, which Python puts first on `sys.path` when it runs it, for that
script's own imports (and conftest.py alike); 4. folders that scripts add to `sys.path` by a constant or
`__file__`-relative expression, for that script's own imports and, last, for all; 5. the given folders, from which
`python -m src.train` finds `src`; 6. for files of a package that contains scripts, the folders of these scripts, unless the name is
that of a library. Folders without `__init__.py` are namespace packages below the repository's root. An
installed package takes precedence over a namespace package of the same name: `import tensorflow` does not mean a folder
`tensorflow` that holds scripts.

A path relative to the current folder does not contain the names of all enclosing folders (`x.py` may lie in a
package, `../x.py` above one). So the index uses absolute paths, and does not depend on the folder in which a run was
started.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

_NOTEBOOK = ".ipynb"
"""Imports never resolve to a notebook: a notebook with a library's name is usually a demonstration of that library."""
_SUFFIXES = (".py", ".pyi", _NOTEBOOK)
_ROOT_MARKS = ("setup.py", "setup.cfg", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """One file as a module.

    Attributes:
        path: the path as in reports.
        name: the dotted module name; `pkg` for `pkg/__init__.py`.
        folder: the absolute path of its folder.
        root: the absolute path of the folder to which the name is relative.
        is_package: whether it is an `__init__.py`.
        import_root: the absolute path of the folder that Python would search first for this file's imports: where its
            topmost regular package lies, or the file's own folder if it is in none, as for a script.
    """

    path: str
    name: str
    folder: str
    root: str
    is_package: bool
    import_root: str

    @property
    def package(self) -> str:
        """Python's `__package__`: the package to which relative imports are relative."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class ModuleIndex:
    """The modules of a repository.

    Attributes:
        files: all modules, by path.
        roots: the import roots, absolute, the preferred first.
    """

    files: Mapping[str, ModuleFile]
    roots: tuple[str, ...]
    _by_place: Mapping[str, str] = field(repr=False)  # absolute path without suffix or `/__init__` -> path
    _folders: frozenset[str] = field(repr=False)
    _steps: frozenset[str] = field(repr=False)  # the name of every folder and file, without suffix
    _by_name: Mapping[str, tuple[str, ...]] = field(repr=False)
    _children: Mapping[str, tuple[str, ...]] = field(repr=False)
    _extra_roots: Mapping[str, tuple[str, ...]] = field(repr=False)
    _installed: frozenset[str] = field(repr=False)  # those of `steps` that are names of installed packages
    _script_roots: Mapping[str, tuple[str, ...]] = field(repr=False)  # by folder of a package, the innermost first

    def module_of(self, path: str) -> ModuleFile:
        """The module of a file.

        Raises:
            KeyError: the file is not in this index.
        """
        return self.files[path]

    def paths_of(self, name: str) -> tuple[str, ...]:
        """The files of a module name, the preferred first; several when it occurs under several roots."""
        return self._by_name.get(name, ())

    def submodules(self, name: str) -> tuple[str, ...]:
        """The names of the modules directly inside a package, sorted; empty if it has none or is not a package."""
        return self._children.get(name, ())

    def resolve(self, importer: str, name: str, level: int = 0) -> str | None:
        """The absolute name of the module of this repository that an import means, or None if it is external.

        `importer` is the path of the importing file, `name` the dotted name as written (`""` in `from . import x`),
        `level` the number of leading dots. A namespace package has a name and no file. An import beyond the topmost
        package gives None.
        """
        found = self._locate(importer, name, level)
        if found is None:
            return None
        absolute, place = found
        path = self._by_place.get(place)
        return self.files[path].name if path is not None else absolute

    def resolve_path(self, importer: str, name: str, level: int = 0) -> str | None:
        """The file that an import means, or None if it is external or a namespace package. See `resolve`."""
        found = self._locate(importer, name, level)
        return self._by_place.get(found[1]) if found is not None else None

    def _locate(self, importer: str, name: str, level: int) -> tuple[str, str] | None:
        """The absolute name and the location (folder, or file without suffix) of an import."""
        if name and name.partition(".")[0] not in self._steps:
            return None  # most imports are of installed packages
        module = self.files[importer]
        if level:
            anchor = module.folder
            for _ in range(level - 1):
                if anchor in (".", "/"):
                    return None
                anchor = _parent(anchor)
            parts = module.package.split(".") if module.package else []
            keep = len(parts) - (level - 1)
            if keep < 1:
                return None
            base = parts[:keep]
            place = _join(anchor, name)
            absolute = ".".join([*base, name] if name else base)
            return (absolute, place) if self._exists(place) else None
        own = (*self._extra_roots.get(importer, ()), module.import_root)
        top = name.partition(".")[0]
        namespace: tuple[str, str] | None = None
        for root in dict.fromkeys((*own, module.root, *self.roots)):
            if top in self._installed and _join(root, top) not in self._by_place:
                continue
            place = _join(root, name)
            if place in self._by_place:
                return name, place
            if namespace is None and place in self._folders and name:
                namespace = (name, place)
        if namespace is None and top not in self._installed and top not in sys.stdlib_module_names:
            roots = self._script_roots.get(module.folder, ())
            if top != name and module.folder != module.import_root:
                # a name with dots that is a path of this repository: a folder inside of a package is on `PYTHONPATH`
                roots = (*roots, *_folders_inside(module))
            for root in roots:
                place = _join(root, name)
                if self._by_place.get(place, importer) != importer:
                    return name, place
        return namespace

    def _exists(self, place: str) -> bool:
        return place in self._by_place or place in self._folders


def build_module_index(
    paths: Iterable[str],
    *,
    package_dirs: Iterable[str] = (),
    path_additions: Mapping[str, tuple[str, ...]] | None = None,
    markers: Iterable[str] = (),
    bases: Iterable[str] = (),
    absolute: Callable[[str], str] = str,
    scripts: Iterable[str] = (),
    is_installed: Callable[[str], bool] = lambda name: False,
) -> ModuleIndex:
    """Index a list of files.

    `package_dirs`: folders that a build configuration names as roots of packages. `path_additions`: for a script, the
    folders it adds to `sys.path` (see `path_edits.read_path_additions`). `markers`: paths of files such as `setup.py`
    or `pyproject.toml`, whose folders are roots of projects. `bases`: the given folders; the roots of files outside
    of all projects. All paths are as in reports; `absolute` normalises each, with `/`. The result does not depend on
    their order. `scripts`: paths of files that may be run. `is_installed` tests whether a top-level name is an installed
    package.
    """
    place_of = {path: absolute(path) for path in paths if path.endswith(_SUFFIXES)}
    ordered = sorted(place_of, key=lambda path: _preference(place_of[path]))
    parent_of = {path: _parent(place) for path, place in place_of.items()}
    additions = {path: tuple(map(absolute, roots)) for path, roots in (path_additions or {}).items()}
    packages = {parent_of[path] for path in ordered if _stem(path) == "__init__"}
    declared = tuple(dict.fromkeys(_normal(absolute(folder)) for folder in package_dirs))
    projects = tuple(
        dict.fromkeys(
            _parent(place)
            for place in sorted((*map(absolute, markers), *place_of.values()))
            if place.rpartition("/")[2] in _ROOT_MARKS
        )
    )
    asked = tuple(sorted(_normal(absolute(base)) for base in bases))
    places = [PurePosixPath(folder) for folder in sorted(set(parent_of.values()))]
    sources = tuple(
        sorted(
            {
                str(folder)
                for parent in places
                for folder in (parent, *parent.parents)
                if folder.name == "src" and str(folder) not in packages and _is_of_run(folder, (*projects, *asked))
            }
        )
    )
    known = (*declared, *sources, *projects, *sorted({root for roots in additions.values() for root in roots}))
    fallbacks = (*known, *asked)
    files: dict[str, ModuleFile] = {}
    by_place: dict[str, str] = {}
    folders = {str(folder) for parent in places for folder in (parent, *parent.parents)}
    tops = {str(parent): _places(parent, packages, known, fallbacks) for parent in places}
    found_roots: set[str] = set()
    package_roots: set[str] = set()
    for path in ordered:
        module = _module_file(path, parent_of[path], *tops[parent_of[path]])
        files[path] = module
        found_roots.add(module.root)
        if module.is_package:
            package_roots.add(module.import_root)
        place = module.folder if module.is_package else _without_suffix(place_of[path])
        if not path.endswith(_NOTEBOOK):
            by_place.setdefault(place, path)
    inferred = (*sorted(found_roots, key=_depth), *sorted(package_roots, key=_depth))
    roots = tuple(dict.fromkeys((*declared, *sources, *inferred, *known, *asked)))
    rank = {root: number for number, root in enumerate(roots)}
    by_name: dict[str, list[str]] = {}
    for path, module in files.items():
        by_name.setdefault(module.name, []).append(path)
    named = {
        name: tuple(sorted(same, key=lambda path: (rank[files[path].root], _preference(place_of[path]))))
        for name, same in sorted(by_name.items())
    }
    children: dict[str, list[str]] = {}
    for name in named:
        children.setdefault(name.rpartition(".")[0], []).append(name)
    inside = {package: tuple(names) for package, names in children.items()}
    steps = {place.rpartition("/")[2] for place in (*by_place, *folders)}
    installed = frozenset(filter(is_installed, steps))
    started_in = {parent_of[path] for path in scripts if path in parent_of} & packages
    return ModuleIndex(
        dict(sorted(files.items())),
        roots,
        by_place,
        frozenset(folders),
        frozenset(steps),
        named,
        inside,
        additions,
        installed,
        _script_roots(tops, started_in) if started_in else {},
    )


def _folders_inside(module: ModuleFile) -> Iterator[str]:
    """The folders around a file that are inside of its topmost package, the innermost first."""
    folder = module.folder
    while folder not in (module.import_root, ".", "/"):
        yield folder
        folder = _parent(folder)


def _script_roots(
    tops: Mapping[str, tuple[str, str, tuple[str, ...]]], started_in: set[str]
) -> dict[str, tuple[str, ...]]:
    """For each folder, the folders with scripts between it and its topmost package, the innermost first.

    Python puts the folder of a script first on `sys.path`, also if it is a package.
    """
    found = {}
    for folder, (top, _, _) in tops.items():
        around = (PurePosixPath(folder), *PurePosixPath(folder).parents)
        roots = tuple(str(each) for each in around if str(each) in started_in and each.is_relative_to(top))
        if roots:
            found[folder] = roots
    return found


def _places(
    folder: PurePosixPath, packages: set[str], known_roots: tuple[str, ...], fallbacks: tuple[str, ...]
) -> tuple[str, str, tuple[str, ...]]:
    """For the files of a folder: the folder of their topmost regular package, the root of their names, and the parts of
    the path between root and folder.
    """
    top = folder
    while str(top) in packages and top != top.parent:
        top = top.parent
    root = _nearest_root(top, known_roots)
    if root is None:
        # Without a project around it, a package is relative to its own folder, and everything else to the given folder.
        root = top if top != folder else (_nearest_root(top, fallbacks) or _outermost(top))
    return str(top), str(root), folder.relative_to(root).parts


def _is_of_run(folder: PurePosixPath, around: tuple[str, ...]) -> bool:
    """Whether a folder lies in one of the given folders; always true if none are given."""
    return not around or any(_lies_in(folder, PurePosixPath(outer)) for outer in around)


def _module_file(path: str, folder: str, top: str, root: str, inner: tuple[str, ...]) -> ModuleFile:
    stem = _stem(path)
    is_package = stem == "__init__"
    name = ".".join(inner if is_package else (*inner, stem))
    return ModuleFile(path, name or folder.rpartition("/")[2] or "__init__", folder, root, is_package, top)


def _outermost(folder: PurePosixPath) -> PurePosixPath:
    """The current folder, or `folder` itself if it does not lie below the current one."""
    outside = folder.is_absolute() or ".." in folder.parts
    return folder if outside else PurePosixPath(".")


def _nearest_root(folder: PurePosixPath, known_roots: tuple[str, ...]) -> PurePosixPath | None:
    """The innermost known root at or above a folder."""
    best: PurePosixPath | None = None
    for root in known_roots:
        candidate = PurePosixPath(root)
        if _lies_in(folder, candidate) and (best is None or _lies_in(candidate, best)):
            best = candidate
    return best


def _preference(path: str) -> tuple[str, int, str]:
    """Sort key for the files of one module name: `.py` before `.pyi` before notebooks, a package before a module of its name."""
    stem = _stem(path)
    place = _parent(path) if stem == "__init__" else _without_suffix(path)
    suffix = path[path.rfind(".") :]
    return place, _SUFFIXES.index(suffix) * 2 + (stem != "__init__"), path


def _stem(path: str) -> str:
    """The name of a file without its suffix."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[:dot] if dot > 0 else name


def _parent(path: str) -> str:
    folder, slash, _ = path.rpartition("/")
    return folder or (slash or ".")


def _without_suffix(path: str) -> str:
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}{_stem(path)}"


def _normal(folder: str) -> str:
    return str(PurePosixPath(folder or "."))


def _join(folder: str, dotted: str) -> str:
    if not dotted:
        return folder
    inner = dotted.strip(".").replace(".", "/")
    return inner if folder == "." else f"{folder.rstrip('/')}/{inner}"


def _lies_in(folder: PurePosixPath, other: PurePosixPath) -> bool:
    """Whether a folder is the other or lies below it. A leading `..` leaves the current folder."""
    return folder.is_relative_to(other) and ".." not in folder.relative_to(other).parts


def _depth(folder: str) -> tuple[int, str]:
    return folder.count("/") + (folder != "."), folder
