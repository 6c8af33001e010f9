"""The tests' files: an archive of the library's repository at a release, or a checkout that is there already."""

from __future__ import annotations

import io
import shutil
import tarfile
import urllib.request
from pathlib import Path

from tools.clients.suites.table import Suite

SECONDS = 120


def bring(name: str, suite: Suite, cache: Path, source: Path | None) -> Path:
    """The folder with a suite's files, fetched unless they are there; `source` is a folder of checkouts by name."""
    folder = cache / f"{name}-{suite.ref}"
    if folder.exists():
        return folder
    unfinished = cache / f"{name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    if source:
        for kept in suite.kept:
            shutil.copytree(source / name / kept, unfinished / kept)
    else:
        _unpack(_archive(suite), suite, unfinished)
    return unfinished.rename(folder)


def _archive(suite: Suite) -> bytes:
    url = f"https://github.com/{suite.repository}/archive/{suite.ref}.tar.gz"
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        content: bytes = answer.read()
    return content


def _unpack(archive: bytes, suite: Suite, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            member.name = member.name.partition("/")[2]  # without the folder of the release
            if member.name.startswith(tuple(f"{kept}/" for kept in suite.kept)):
                files.extract(member, folder, filter="data")
