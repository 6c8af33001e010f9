"""Wheels and source distributions: builds, contents, differences."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from tools.packages import Package


def contents(archive: Path) -> dict[str, str]:
    """The checksum of each file of a wheel or a source distribution.

    Args:
        archive: the file, `.whl` or `.tar.gz`.
    """
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {n: hashlib.sha256(wheel.read(n)).hexdigest() for n in wheel.namelist()}
    with tarfile.open(archive) as sdist:
        files = ((member, sdist.extractfile(member)) for member in sdist if member.isfile())
        return {member.name: hashlib.sha256(file.read()).hexdigest() for member, file in files if file}


def differences(first: Path, second: Path) -> list[str]:
    """The files in which two archives differ, and `bytes of the archive` where only their packing differs.

    Args:
        first: an archive.
        second: another build of it.
    """
    if first.read_bytes() == second.read_bytes():
        return []
    one, two = contents(first), contents(second)
    names = sorted(name for name in {*one, *two} if one.get(name) != two.get(name))
    return names or ["bytes of the archive"]


def build_sdist(package: Package, python: Path, folder: Path) -> Path:
    """Builds the source distribution of a package.

    Args:
        package: the package.
        python: an interpreter with the requirements of the build.
        folder: the folder of the result.

    Returns:
        The path of the archive.
    """
    command = [str(python), "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder)]
    subprocess.run(command, cwd=package.folder, check=True, stdout=sys.stderr)
    (archive,) = folder.glob(f"{package.distribution.replace('-', '_')}-*.tar.gz")
    return archive


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpacks a source distribution, and returns its top folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return folder / sdist.name.removesuffix(".tar.gz")
