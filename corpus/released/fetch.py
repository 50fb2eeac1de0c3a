"""Downloads the packages: finds each file through pip's configured index, checks its digest, unpacks it.

No package is built or run. Existing packages (whose marker holds the digest of the manifest) are skipped, so an
interrupted run can be repeated. Unpacking cannot write outside its folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

from corpus.released.manifest import STORE, Package
from terra_refactor.batch.fetch import FetchError, unpack

TRIES = 3
TIMEOUT = 60.0
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.2"


def fetch(wanted: Sequence[Package]) -> int:
    """Downloads missing packages. Returns 1 if some are still missing afterwards."""
    missing = [package for package in wanted if not package.fetched]
    failed = 0
    index = index_url() if missing else ""
    for package in missing:
        try:
            _bring(package, index)
        except FetchError as error:
            print(f"{package.key}: {error}", file=sys.stderr)
            failed += 1
        else:
            print(f"{package.key}: fetched", flush=True)
    print(f"{len(wanted) - failed} of {len(wanted)} packages are in {STORE.name}/")
    return 1 if failed else 0


def index_url() -> str:
    """The package index that pip uses here, from its help, which reflects all of pip's configuration.

    Raises:
        FetchError: it is not in the help.
    """
    environment = {**os.environ, "COLUMNS": "1000"}
    command = [sys.executable, "-m", "pip", "download", "--help"]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
    found = re.search(r"--index-url\s.*?\(default\s+(\S+?)\)", told, re.DOTALL)
    if found is None:
        raise FetchError("pip does not say which index it uses")
    return found[1].rstrip("/")


def _bring(package: Package, index: str) -> None:
    STORE.mkdir(exist_ok=True)
    page = f"{index}/{package.name}/"
    address = urllib.parse.urljoin(page, file_address(_read(page), package.file))
    content = _read(address)
    digest = hashlib.sha256(content).hexdigest()
    if digest != package.sha256:
        raise FetchError(f"{package.file} has the digest {digest}, and not {package.sha256}")
    store(package, content)


def file_address(page: bytes, file: str) -> str:
    """The address of a file on the index's page of a project (PEP 503 or 691), as written there.

    Raises:
        FetchError: the page does not have the file.
    """
    try:
        files = {entry["filename"]: entry["url"] for entry in json.loads(page)["files"]}
    except ValueError:
        links = _Links()
        links.feed(page.decode("utf-8", "replace"))
        files = links.found
    if file not in files:
        raise FetchError(f"the index has no {file}")
    return files[file].partition("#")[0]


class _Links(HTMLParser):
    """The links of a page, by their text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._address: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._address = dict(attrs).get("href")

    def handle_data(self, data: str) -> None:
        if self._address is not None:
            self.found[data.strip()] = self._address
            self._address = None


def _read(address: str) -> bytes:
    request = urllib.request.Request(address, headers={"Accept": _ACCEPT})
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise FetchError(f"the index answers {error.code}") from error
        except OSError as error:
            if not left:
                raise FetchError(f"the index cannot be read: {error}") from error
    raise AssertionError


def store(package: Package, content: bytes) -> None:
    """Unpacks an archive, replacing earlier files of the package; the marker comes last.

    Raises:
        FetchError: it cannot be unpacked.
    """
    package.marker.unlink(missing_ok=True)
    shutil.rmtree(package.folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=STORE) as scratch:
        archive = Path(scratch) / package.file
        archive.write_bytes(content)
        unpacked = Path(scratch) / "unpacked"
        unpacked.mkdir()
        unpack(str(archive), str(unpacked))
        inside = list(unpacked.iterdir())
        # a source distribution has a single top-level folder
        top = inside[0] if not package.file.endswith(".whl") and len(inside) == 1 and inside[0].is_dir() else unpacked
        top.rename(package.folder)
    package.marker.write_text(package.sha256 + "\n", encoding="utf-8")
