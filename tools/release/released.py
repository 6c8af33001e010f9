"""The wheels of packages as they were at a commit: the last release, or another commit."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from tools import wheels
from tools.packages import ROOT, Package


def git(*arguments: str) -> bytes:
    """The output of git in the repository."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True).stdout


def last_tag(dist: str) -> str | None:
    """The tag of a package's last release; None before the first."""
    tags = git("tag", "--list", f"{dist}-v*.*.*", "--sort=-version:refname").decode().split()
    return tags[0] if tags else None


def wheel(dist: str, commit: str, python: Path, folder: Path) -> Path:
    """Builds the wheel of a package from a commit.

    Args:
        dist: the package.
        commit: a commit or a tag.
        python: an interpreter with the requirements of the build.
        folder: the folder of the sources and of the wheel.

    Returns:
        The path of the wheel. A wheel of the same content that is cached is not built again.
    """
    source = folder / "sources" / git("rev-parse", "--short", f"{commit}^{{commit}}").decode().strip()
    if not source.exists():
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "packages"))) as archive:
            archive.extractall(source, filter="data")
    package = Package(source / "packages" / dist)
    cached = wheels.cached(package)
    target = cached if cached.exists() else folder / "built" / f"{dist}-{source.name}"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        wheels.build(package, python, target)
    (path,) = target.glob("*.whl")
    return path
