"""Components: the files connected by imports, which are analysed together.

Computes: the module names that a text imports, by a scan without parsing; and the files connected with given ones.
Needs: texts and the index of modules. Gives: `scan_imports`, `ImportScan`, `imported_files`, `connected_files`,
`loaded_with`, and `components`. Ignores: whether an import runs (a line in a string that looks like an import counts,
which only enlarges a component), and modules imported under a computed name.

Components are independent: no value flows from one to another. A package's submodules count as reached if the package
itself is imported, since `import p; p.sub.f()` reaches them without importing them by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from terra_refactor.syntax.modules import ModuleIndex

_CONTINUED = re.compile(r"\\\r?\n")
_IMPORT = re.compile(
    r"(?:^|[;:])[ \t\f]*(?:"
    r"from[ \t]*(?P<level>[.\s]*)(?P<module>[\w.]*)[ \t]*\bimport\b[ \t]*(?P<names>\([^)]*\)|[^#\r\n;]*)"
    r"|import[ \t]+(?P<modules>[\w.][^#\r\n;]*))",
    re.MULTILINE,
)
_BY_NAME = re.compile(r"\bimport_module\(\s*(?:[\"'](?P<name>[\w.]+)[\"'])?")


@dataclass(frozen=True, slots=True, order=True)
class ImportScan:
    """One import as written. `names` is () for `import module`."""

    module: str
    level: int
    names: tuple[str, ...]


def scan_imports(text: str) -> tuple[ImportScan, ...]:
    """Everything in the text that looks like an import, sorted, without duplicates."""
    if "import" not in text:
        return ()
    if "\\" in text:
        text = _CONTINUED.sub(" ", text)
    found: set[ImportScan] = set()
    for match in _import_lines(text):
        if match["modules"] is not None:
            for part in match["modules"].split(","):
                name = part.split()[0] if part.split() else ""
                if name:
                    found.add(ImportScan(name, 0, ()))
        else:
            names = re.sub(r"#[^\r\n]*", "", match["names"]).strip("() \t\r\n")
            imported = tuple(sorted({part.split()[0] for part in names.split(",") if part.split()}))
            found.add(ImportScan(match["module"], match["level"].count("."), imported))
    if "import_module" in text:
        found.update(ImportScan(match["name"], 0, ()) for match in _BY_NAME.finditer(text) if match["name"])
    return tuple(sorted(found))


def _import_lines(text: str) -> Iterator[re.Match[str]]:
    """Matches of `_IMPORT`, searched only in lines that contain the word: most do not, and there are millions of lines."""
    word = text.find("import")
    while word >= 0:
        start = text.rfind("\n", 0, word) + 1
        end = text.find("\n", word)
        after = end if end >= 0 else len(text)
        for found in _IMPORT.finditer(text, start, after):
            match = _IMPORT.match(text, found.start())  # names in parentheses continue on other lines
            if match is not None:
                yield match
                after = max(after, match.end())
        word = text.find("import", after)


def imported_files(path: str, scans: Iterable[ImportScan], index: ModuleIndex) -> frozenset[str]:
    """The files directly reached by the imports of one file, including parent packages."""
    if path not in index.files:
        return frozenset()
    reached: set[str] = set()
    for scan in scans:
        names = [scan.module] if not scan.names else []
        for name in scan.names:
            inner = f"{scan.module}.{name}" if scan.module else name
            if name == "*":
                names.append(scan.module)
            else:
                own = index.resolve_path(path, scan.module, scan.level)
                if own is not None:
                    reached.add(own)
                if index.resolve(path, inner, scan.level) is not None:
                    names.append(inner)
        for name in names:
            file = index.resolve_path(path, name, scan.level)
            if file is not None:
                reached.add(file)
            absolute = index.resolve(path, name, scan.level)
            if absolute is not None and (file is None or index.files[file].is_package):
                reached.update(_below(absolute, index))
            parts = name.split(".")
            for depth in range(1, len(parts)):
                above = index.resolve_path(path, ".".join(parts[:depth]), scan.level)
                if above is not None:
                    reached.add(above)
    return frozenset(reached - {path})


def _below(package: str, index: ModuleIndex) -> Iterable[str]:
    for name in index.submodules(package):
        yield from index.paths_of(name)
        yield from _below(name, index)


def components(imports: Mapping[str, frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """The files in `imports`, grouped by connections; each group is sorted, and groups are sorted by their first file."""
    group_of = {path: [path] for path in imports}
    for importer, reached in imports.items():
        for file in reached:
            own, other = group_of[importer], group_of.get(file)
            if other is None or other is own:
                continue
            small, large = sorted((own, other), key=len)
            large.extend(small)
            for member in small:
                group_of[member] = large
    return tuple(sorted({tuple(sorted(group)) for group in {id(group): group for group in group_of.values()}.values()}))


def nearest_files(
    path: str, imports: Mapping[str, Iterable[str]], lines: Mapping[str, int], most: int
) -> tuple[str, ...]:
    """A file and its nearest imports (among equally near ones the shortest first), up to `most` lines in all; sorted.

    Only files with an entry in `lines`.
    """
    found, left = [path], most
    for file in found:  # grows during iteration
        for other in sorted(imports.get(file, ()), key=lambda each: (lines.get(each, 0), each)):
            if other in lines and other not in found and lines[other] <= left:
                found.append(other)
                left -= lines[other]
    return tuple(sorted(found))


def loaded_with(paths: Iterable[str], imports: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The files of the programs that load one of these: its direct and indirect importers, and all their imports."""
    importers: dict[str, list[str]] = {}
    for importer, reached in imports.items():
        for file in reached:
            importers.setdefault(file, []).append(importer)
    return _reached(_reached(paths, importers), imports)


def _reached(paths: Iterable[str], edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    seen = set(paths)
    waiting = list(seen)
    while waiting:
        for file in edges.get(waiting.pop(), ()):
            if file not in seen:
                seen.add(file)
                waiting.append(file)
    return frozenset(seen)


def connected_files(paths: Iterable[str], imports: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """The files connected by imports with any of these files, in either direction, and these files themselves; sorted."""
    neighbours: dict[str, set[str]] = {}
    for importer, reached in imports.items():
        for file in reached:
            neighbours.setdefault(importer, set()).add(file)
            neighbours.setdefault(file, set()).add(importer)
    seen = set(paths)
    waiting = sorted(seen)
    while waiting:
        for file in neighbours.get(waiting.pop(), ()):
            if file not in seen:
                seen.add(file)
                waiting.append(file)
    return tuple(sorted(seen))
