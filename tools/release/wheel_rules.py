"""Rules for a wheel: its record, tags, licence, metadata, and no path of the machine that built it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from tools.packages import ROOT, Package

NATIVE = ".so"


class Wheel:
    """A wheel in memory.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.path = path
        self.info = next(name for name in self.files if name.endswith(".dist-info/METADATA")).rpartition("/")[
            0
        ]

    @property
    def metadata(self) -> Message:
        """The fields of METADATA."""
        return message_from_bytes(self.files[f"{self.info}/METADATA"])

    @property
    def tags(self) -> list[str]:
        """The tags of WHEEL."""
        return message_from_bytes(self.files[f"{self.info}/WHEEL"]).get_all("Tag", [])


def record_faults(wheel: Wheel) -> Iterator[str]:
    """Files that RECORD lacks or describes wrongly, and paths outside of the folder of the installation."""
    name = f"{wheel.info}/RECORD"
    rows = {row[0]: row[1] for row in csv.reader(io.StringIO(wheel.files[name].decode()))}
    for path in sorted({*rows} ^ {*wheel.files}):
        yield f"{path} is only in {'RECORD' if path in rows else 'the archive'}"
    for path, checksum in rows.items():
        if path.startswith("/") or ".." in Path(path).parts:
            yield f"{path} leaves the folder of the installation"
        digest = hashlib.sha256(wheel.files.get(path, b"")).digest()
        if path != name and checksum != f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}":
            yield f"{path} has another checksum than RECORD"


def licence_faults(wheel: Wheel, package: Package) -> Iterator[str]:
    """A wheel without the licence of the repository."""
    if wheel.metadata["License-Expression"] != package.settings["project"]["license"]:
        yield f"License-Expression is {wheel.metadata['License-Expression']}"
    if wheel.files.get(f"{wheel.info}/licenses/LICENSE") != (ROOT / "LICENSE").read_bytes():
        yield "licenses/LICENSE differs from the LICENSE of the repository"


def metadata_faults(wheel: Wheel, package: Package) -> Iterator[str]:
    """Metadata that differ from the sources."""
    expected = {
        "Name": package.distribution,
        "Version": package.version,
        "Requires-Python": package.settings["project"]["requires-python"],
        "Description-Content-Type": "text/markdown",
    }
    for field, value in expected.items():
        if wheel.metadata[field] != value:
            yield f"{field} is {wheel.metadata[field]}, expected {value}"
    if len(wheel.metadata.get_all("Project-URL", [])) != len(package.settings["project"]["urls"]):
        yield "Project-URL lacks an address"


def tag_faults(wheel: Wheel, package: Package) -> Iterator[str]:
    """Tags that the package can't have, and compiled modules without such a tag."""
    is_pure = wheel.tags == ["py3-none-any"]
    if is_pure == package.is_native:
        yield f"the tags {wheel.tags} fit no {'native' if package.is_native else 'pure'} package"
    if is_pure and any(name.endswith(NATIVE) for name in wheel.files):
        yield "a pure wheel contains a compiled module"
    if not all(tag in wheel.path.name or "." in wheel.path.stem.split("-")[-1] for tag in wheel.tags):
        yield f"the name of the file lacks the tags {wheel.tags}"


def path_faults(wheel: Wheel) -> Iterator[str]:
    """Files that contain a path of the machine that built the wheel."""
    prefixes = [str(ROOT), sys.prefix, sys.base_prefix]
    for name, data in wheel.files.items():
        more = [f"{tempfile.gettempdir()}/"] if name.endswith(NATIVE) else []
        for prefix in {*prefixes, *more} - {"/usr", "/usr/local"}:
            if prefix.encode() in data:
                yield f"{name} contains {prefix}"


def top_level_faults(wheel: Wheel, package: Package) -> Iterator[str]:
    """Folders and files beside the packages that the settings name."""
    target = package.settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    forced = (Path(name).parts[0] for name in target.get("force-include", {}).values())
    expected = {wheel.info, *(Path(name).name for name in target["packages"]), *forced}
    for name in sorted({Path(file).parts[0] for file in wheel.files} ^ expected):
        yield f"{name} is {'missing' if name in expected else 'in the wheel, but not in the settings'}"


def faults(path: Path, package: Package) -> list[str]:
    """The rules that a wheel breaks.

    Args:
        path: the wheel.
        package: its package.
    """
    wheel = Wheel(path)
    rules = (
        record_faults(wheel),
        licence_faults(wheel, package),
        metadata_faults(wheel, package),
        tag_faults(wheel, package),
        path_faults(wheel),
        top_level_faults(wheel, package),
    )
    return [f"{path.name}: {fault}" for rule in rules for fault in rule]
