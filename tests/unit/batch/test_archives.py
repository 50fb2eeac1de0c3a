"""Archives are unpacked into their own folder, and no more of them than a disk can take."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from terra_refactor.batch import fetch
from terra_refactor.batch.fetch import FetchError, unpack


def zipped(file: Path, name: str, data: bytes) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)


def tarred(file: Path, name: str, data: bytes, link: str | None = None) -> None:
    with tarfile.open(file, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        if link is not None:
            member.type, member.linkname, member.size = tarfile.SYMTYPE, link, 0
        archive.addfile(member, io.BytesIO(data))


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_that_would_fill_the_disk(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MAX_REPOSITORY_BYTES", 1 << 20)
    archive, folder = tmp_path / f"bomb.{kind}", tmp_path / "folder"
    folder.mkdir()
    (zipped if kind == "zip" else tarred)(archive, "a.py", bytes(1 << 20))
    unpack(str(archive), str(folder))
    assert (folder / "a.py").stat().st_size == 1 << 20
    (zipped if kind == "zip" else tarred)(archive, "b.py", bytes((1 << 20) + 1))
    with pytest.raises(FetchError, match="unpacks to more than"):
        unpack(str(archive), str(folder))
    assert not (folder / "b.py").exists()


@pytest.mark.parametrize("name", ["../evil.py", "a/../../evil.py"])
def test_an_archive_that_wants_to_write_outside(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    zipped(tmp_path / "a.zip", name, b"x = 1\n")
    unpack(str(tmp_path / "a.zip"), str(folder))
    tarred(tmp_path / "a.tar.gz", name, b"x = 1\n")
    with pytest.raises(FetchError):
        unpack(str(tmp_path / "a.tar.gz"), str(folder))
    tarred(tmp_path / "b.tar.gz", "link", b"", link="../../outside")
    with pytest.raises(FetchError):
        unpack(str(tmp_path / "b.tar.gz"), str(folder))
    assert not (tmp_path / "evil.py").exists()
