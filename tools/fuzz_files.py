"""Fuzz test: whether mutants of real files crash or block the tool, or give inconsistent results.

Run it as `python tools/fuzz_files.py FOLDER... --number N [--seed S] [--jobs J] [--most-bytes B]`; the folders hold
Python files and notebooks, which are only read. `tests/property/file_mutants.py` defines a trial. Each worker is a
process that tries its share and writes a line of JSON for each mutant. If one dies, or takes more than `--limit`
seconds of processor time, only its present mutant is lost, which is stored in the folder `--keep`. The exit code is 1
if a check failed. The same seed gives the same mutants of the same files.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, os.environ.get("FUZZED", str(REPOSITORY)))
sys.path.insert(0, str(REPOSITORY / "tests" / "property"))


def main() -> int:
    options = _options().parse_args()
    if options.server:
        return _told(list(_serve(options)))
    if options.worker is not None:
        _work(options)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        shares = [Path(folder) / f"results-{number}" for number in range(options.jobs)]
        threads = [
            threading.Thread(target=_drive, args=(options, number, share)) for number, share in enumerate(shares)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        results = [json.loads(line) for share in shares for line in share.read_text(encoding="utf-8").splitlines()]
    return _told(results)


def _told(results: Sequence[dict[str, object]]) -> int:
    kinds: collections.Counter[str] = collections.Counter()
    seconds = sorted(float(str(result["seconds"])) for result in results)
    for result in results:
        problems = result["problems"]
        assert isinstance(problems, list)
        kinds.update({problem.split(": ", 1)[0] for problem in problems})
        for problem in problems:
            print(f"{result['number']} {result['file']} {problem}")
    broken = sum(bool(result["problems"]) for result in results)
    print(
        f"{len(results)} mutants, {broken} break a promise; slowest {seconds[-1]:.1f} s, half below {seconds[len(seconds) // 2]:.2f} s"
    )
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}")
    return 1 if broken else 0


def _serve(options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """The same mutants for a language server, which is restarted when it hangs, and after every hundred."""
    from file_mutants import mutant_of  # noqa: PLC0415 - after the path is set
    from server_mutants import Server, StuckError, server_trial  # noqa: PLC0415

    files = [path for path in _files(options.folders, options.most_bytes) if path.suffix == ".py"]
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in files}
    plain = list(texts.values())
    number = 0
    while number < options.number:
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(StuckError):
            project = Path(folder, "project")
            project.mkdir()
            with Server(project, patience=30 * options.limit) as server:
                for _ in range(100):
                    if number >= options.number:
                        break
                    chosen = random.Random(f"server {options.seed} {number}")
                    file = chosen.choice(files)
                    mutant = mutant_of(texts[file], chosen, plain).decode("utf-8", "replace")
                    (project / "mutant.py").write_text(texts[file], encoding="utf-8")
                    before = server.seconds()
                    problems: list[str] = []
                    found = {"number": number, "file": str(file), "problems": problems}
                    number += 1
                    try:
                        problems.extend(server_trial(server, "mutant.py", texts[file], mutant, chosen, options.limit))
                    except StuckError as error:
                        problems.append(str(error))
                        yield {**found, "seconds": options.limit}
                        raise
                    finally:
                        if problems and options.keep is not None:
                            options.keep.mkdir(parents=True, exist_ok=True)
                            (options.keep / f"{number - 1}.py").write_text(mutant, encoding="utf-8")
                            shutil.copyfile(server.log, options.keep / f"{number - 1}.log")
                    yield {**found, "seconds": round(server.seconds() - before, 2)}


def _drive(options: argparse.Namespace, worker: int, share: Path) -> None:
    """Restarts the worker as long as a mutant kills it."""
    share.touch()
    state = share.with_suffix(".state")
    first = worker
    while first < options.number:
        command = [sys.executable, __file__, *sys.argv[1:], "--worker", str(first), "--share", str(share)]
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE)
        if done.returncode == 0:
            return
        at, file, stage = json.loads(state.read_text(encoding="utf-8")) if state.exists() else (first, "", "start")
        hung = done.returncode == _HUNG
        why = "hangs" if hung else f"the process ends ({done.returncode})"
        said = done.stderr.decode("utf-8", "replace")
        lines = [line.strip() for line in said.splitlines() if "terra_refactor" in line]
        _record(share, at, file, [f"{why}: {stage} {' < '.join(lines[:12])}"], options.limit if hung else 0)
        first = at + options.jobs


_HUNG = 77


def _record(share: Path, number: int, file: str, problems: list[str], seconds: float) -> None:
    with share.open("a", encoding="utf-8") as stream:
        line = {"number": number, "file": file, "problems": problems, "seconds": round(seconds, 2)}
        stream.write(json.dumps(line) + "\n")


def _files(folders: Sequence[str], most_bytes: int) -> list[Path]:
    return sorted(
        path
        for folder in folders
        for path in Path(folder).rglob("*")
        if path.suffix in {".py", ".ipynb"} and path.is_file() and 0 < path.stat().st_size <= most_bytes
    )


def _work(options: argparse.Namespace) -> None:
    from file_mutants import LEVELS, mutant_of, mutant_of_notebook, trial  # noqa: PLC0415 - after the path is set

    files = _files(options.folders, options.most_bytes)
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in files}
    plain = [text for path, text in texts.items() if path.suffix == ".py"]
    limit = int(options.memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    faulthandler.enable()
    stage = ["", ""]
    started = 0.0
    lock = threading.Lock()

    def watch() -> None:
        while True:
            time.sleep(0.5)
            with lock:
                if started and time.process_time() - started > options.limit:
                    faulthandler.dump_traceback()
                    os._exit(_HUNG)

    def interrupted(_: int, __: FrameType | None) -> None:
        os._exit(1)

    signal.signal(signal.SIGTERM, interrupted)
    threading.Thread(target=watch, daemon=True).start()
    state = options.share.with_suffix(".state")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(options.worker, options.number, options.jobs):
            chosen = random.Random(f"{options.seed} {number}")
            file = chosen.choice(files)
            is_notebook = file.suffix == ".ipynb"
            make = mutant_of_notebook if is_notebook else mutant_of
            original = texts[file]
            try:
                data = make(original, chosen, plain)
            except (ValueError, KeyError, AttributeError, TypeError):
                continue  # an invalid notebook
            path = Path("mutant.ipynb" if is_notebook else "mutant.py")
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                kept = options.keep / f"{number}{file.suffix}"
                kept.write_bytes(data)

            spent: dict[str, float] = {}

            def note(name: str, at: int = number, of: str = str(file), spent: dict[str, float] = spent) -> None:
                now = time.process_time()
                if stage[0]:
                    spent[stage[0]] = now - spent[stage[0]]
                stage[:] = [name]
                if name:
                    spent[name] = now
                state.write_text(json.dumps([at, of, name]), encoding="utf-8")

            stage[:] = [""]
            note("start")
            with lock:
                started = time.process_time()
            before = time.process_time()
            problems: list[str] = []
            try:
                problems.extend(trial(path, original, data, note, chosen.choice(LEVELS)))
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(last.filename).name}:{last.lineno} {last.name}"
                problems.append(f"raises {type(error).__name__} in {stage[0]}: {str(error)[:200]} at {place}")
            note("")
            problems.extend(f"slow: {name}: {taken:.1f} s" for name, taken in spent.items() if taken > options.slow)
            seconds = time.process_time() - before
            with lock:
                started = 0.0
            if options.keep is not None and not problems:
                kept.unlink()
            _record(options.share, number, str(file), sorted(set(problems)), seconds)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--number", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds of processor time for all stages of one mutant"
    )
    parser.add_argument("--slow", type=float, default=10.0, help="seconds of processor time that one stage may take")
    parser.add_argument("--memory", type=float, default=4.0, help="GiB that a worker may take")
    parser.add_argument("--most-bytes", type=int, default=12_000)
    parser.add_argument(
        "--keep", type=lambda folder: Path(folder).absolute(), help="where mutants are kept that break a promise"
    )
    parser.add_argument("--server", action="store_true", help="try the language server, over its pipes")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--share", type=Path, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
