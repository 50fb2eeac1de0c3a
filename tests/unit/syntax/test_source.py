"""Reading sources: every encoding and line ending comes back byte for byte, and what cannot be read is said in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from terra_refactor.errors import SourceError
from terra_refactor.syntax.source import read_source, source_from_bytes, source_from_text

BYTES = {
    "plain": b"x = 1\n",
    "empty": b"",
    "bom": b"\xef\xbb\xbfx = 1\n",
    "bom and declaration": b"\xef\xbb\xbf# coding: utf-8\nx = 1\n",
    "crlf": b"x = 1\r\ny = 2\r\n",
    "carriage returns": b"x = 1\ry = 2\r",
    "mixed line endings": b"x = 1\r\ny = 2\nz = 3\r",
    "tabs": b"if x:\n\ty = 1\n",
    "form feed": b"\x0cx = 1\n\x0c\ny = 2\n",
    "no final newline": b"x = 1",
    "latin-1": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
    "declared in line 2": b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
    "declared after a carriage return": b"#!python\r# coding: latin-1\rx = '\xe9'\r",
    "utf-8": "x = 'é😀\u2028'\n".encode(),
}


@pytest.mark.parametrize("data", BYTES.values(), ids=BYTES)
def test_bytes_come_back(data: bytes) -> None:
    source = source_from_bytes(data)
    assert source.encode(source.text) == data
    assert source.reversible


@pytest.mark.parametrize(
    ("data", "encoding", "newline"),
    [
        (BYTES["bom"], "utf-8-sig", "\n"),
        (BYTES["crlf"], "utf-8", "\r\n"),
        (BYTES["carriage returns"], "utf-8", "\r"),
        (BYTES["latin-1"], "iso-8859-1", "\n"),
        (BYTES["declared after a carriage return"], "iso-8859-1", "\r"),
    ],
)
def test_encoding_and_newline(data: bytes, encoding: str, newline: str) -> None:
    source = source_from_bytes(data)
    assert (source.encoding, source.newline) == (encoding, newline)
    assert not source.text.startswith("\ufeff")


def test_edited_text_keeps_encoding() -> None:
    source = source_from_bytes(BYTES["latin-1"])
    assert source.encode(source.text.replace("é", "è")) == BYTES["latin-1"].replace(b"\xe9", b"\xe8")
    with pytest.raises(SourceError, match="does not fit the encoding iso-8859-1") as caught:
        source.encode(source.text.replace("é", "😀"))
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"x = 1\ny = '\xe9'\n", 2, "byte 0xe9 is not valid utf-8, and no other encoding is declared"),
        (b"\xef\xbb\xbfx = '\xe9'\n", 1, "not valid utf-8-sig"),
        (b"x = 1\n\ny = '\x00'\n", 3, "null byte"),
        (b"# coding: klingon\n", 1, "klingon"),
        (b"# coding: rot13\n", 1, "rot13"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, "byte order mark"),
        ("x = 1\n".encode("utf-16"), 1, "UTF-16"),
        ("x = 1\n".encode("utf-32"), 1, "UTF-32"),
    ],
)
def test_undecodable(data: bytes, line: int, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        source_from_bytes(data, "bad.py")
    assert (caught.value.path, caught.value.line) == ("bad.py", line)


def test_codec_with_two_spellings_is_never_written() -> None:
    source = source_from_bytes(b"# coding: utf-7\nx = '+AGE-'\n")
    assert "x = 'a'" in source.text
    assert not source.reversible
    with pytest.raises(SourceError, match="byte for byte"):
        source.encode(source.text)


def test_path_is_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_bytes(b"x = 1\n")
    monkeypatch.chdir(tmp_path)
    assert read_source(tmp_path / "pkg" / "a.py").path == "pkg/a.py"
    monkeypatch.chdir(tmp_path / "pkg")
    assert read_source("../pkg/a.py").path == "a.py"


def test_same_bytes_same_digest(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    assert (
        read_source(tmp_path / "a.py").digest
        == source_from_bytes(b"x = 1\n").digest
        == source_from_text("x = 1\n").digest
    )
    assert source_from_bytes(b"x = 2\n").digest != source_from_bytes(b"x = 1\n").digest


def test_missing_dangling_and_folder(tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("nowhere.py")
    for name, words in (
        ("link.py", "symbolic link to nowhere.py"),
        ("none.py", "does not exist"),
        (".", "is a folder"),
        ("link.py/y.py", "does not exist"),
    ):
        with pytest.raises(SourceError, match=words):
            read_source(tmp_path / name)


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.py"
    path.write_bytes(b"x = 1\n")
    path.chmod(0)
    if os.access(path, os.R_OK):  # as root, permission bits stop nobody

        def refuse(*arguments: object, **options: object) -> object:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(SourceError, match="permission to read it is denied"):
        read_source(path)
