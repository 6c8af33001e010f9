"""Wheels that contain metadata only, with another version: pip's resolver reads nothing else."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path


def with_version(wheel: Path, version: str, folder: Path) -> Path:
    """A wheel with the metadata of another wheel and another version, which pip can resolve but not use.

    Args:
        wheel: the other wheel.
        version: the version, as X.Y.Z.
        folder: the folder of the result.

    Returns:
        The path of the wheel.
    """
    name, old, *tags = wheel.name.split("-")
    path = folder / "-".join([name, version, *tags])
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(path, "w") as target:
        text = source.read(f"{name}-{old}.dist-info/METADATA").decode()
        target.writestr(
            f"{info}/METADATA", re.sub(r"(?m)^Version: .*$", f"Version: {version}", text, count=1)
        )
        target.writestr(f"{info}/WHEEL", source.read(f"{name}-{old}.dist-info/WHEEL"))
        target.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


def next_patch(version: str) -> str:
    """The next version that others accept: `0.1.0` → `0.1.1`."""
    major, minor, patch = version.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"


def next_bound(version: str) -> str:
    """The next version that others refuse: `0.1.4` → `0.2.0`, `1.2.3` → `2.0.0`."""
    major, minor, _ = map(int, version.split("."))
    return f"{major + 1}.0.0" if major else f"0.{minor + 1}.0"
