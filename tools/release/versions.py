"""The version of a package: the next one, its section in the changelog, its tag."""

from __future__ import annotations

import re
import subprocess
import sys

from tools import pyprojects
from tools.packages import ROOT, Package, packages
from tools.project import Project, project
from tools.release.look_alikes import collisions

TAG = re.compile(r"^(?P<dist>[a-z][a-z-]*)-v(?P<version>\d+\.\d+\.\d+)$")


class ReleaseError(Exception):
    """An obstacle of a release."""


def find(dist: str, every: dict[str, Package]) -> Package:
    """The package of that name."""
    if dist not in every:
        raise ReleaseError(f"there is no package {dist!r}; packages: {', '.join(every)}")
    return every[dist]


def has_section(package: Package, version: str) -> bool:
    """Whether the changelog has a section for a version."""
    return f"\n## {version} (" in (package.folder / "CHANGELOG.md").read_text()


def section(package: Package, version: str) -> str:
    """The text of the changelog's section for a version, without its heading.

    Raises:
        ReleaseError: the changelog has no such section.
    """
    if not has_section(package, version):
        raise ReleaseError(f"CHANGELOG.md of {package.dist} has no section for {version}")
    text = (package.folder / "CHANGELOG.md").read_text().partition(f"\n## {version} (")[2]
    return re.split(r"\n## ", text.partition("\n")[2], maxsplit=1)[0].strip()


def next_version(package: Package, version: str) -> str:
    """Checks that `version` is X.Y.Z and newer than the last release.

    The version of the package itself is accepted while the changelog has no section for it.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ReleaseError(f"version {version!r}: expected X.Y.Z")
    if version == package.version and not has_section(package, version):
        return version
    if tuple(map(int, version.split("."))) <= tuple(map(int, package.version.split("."))):
        raise ReleaseError(f"version {version}: expected one above {package.version}")
    return version


def set_version(package: Package, version: str) -> None:
    """Writes the version into the one file that states it."""
    file = package.version_file
    file.write_text(re.sub(r'(?m)^(__version__ = )"[^"]+"', rf'\1"{version}"', file.read_text()))


def prepare(package: Package, version: str) -> list[str]:
    """Writes the version, the changelog and the bounds of the packages that require this one. You commit them.

    Args:
        package: the package to release.
        version: its version, as X.Y.Z.

    Returns:
        The other packages whose bounds changed: they need a release too.

    Raises:
        ReleaseError: the version is not newer than the last release, or `changes/` is empty.
    """
    if not list((package.folder / "changes").glob("*.md")):
        raise ReleaseError(f"{package.dist}: changes/ is empty, so the changelog of {version} would be empty")
    set_version(package, next_version(package, version))
    every = packages(package.folder.parent.parent)
    rewritten = pyprojects.write(pyprojects.updated(every, project()))
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", version]
    subprocess.run([*command, "--dir", str(package.folder)], cwd=package.folder, check=True)
    return [file.parent.name for file in rewritten if file.parent != package.folder]


def verify(tag: str, every: dict[str, Package], facts: Project) -> Package:
    """The package that a tag releases.

    Args:
        tag: the name of the tag, `<dist>-vX.Y.Z`.
        every: the packages, by `dist`.
        facts: the prefix of the distributions and the address of the repository.

    Raises:
        ReleaseError: the tag, the version and the changelog disagree, the address is a placeholder, or the index would
            refuse the name.
    """
    parts = TAG.match(tag)
    if parts is None:
        raise ReleaseError(f"tag {tag!r}: expected <dist>-vX.Y.Z")
    package = find(parts["dist"], every)
    if package.version != parts["version"]:
        raise ReleaseError(f"tag {tag}: the version of {package.dist} is {package.version}")
    section(package, package.version)
    if not facts.has_address:
        raise ReleaseError(f"tools/project.toml: the address {facts.repository} is a placeholder")
    others = collisions([package.distribution])
    if others:
        raise ReleaseError(f"an index refuses {package.distribution}, which looks like {others[0].other}")
    return package


def tag(package: Package) -> str:
    """Tags HEAD with the version of a package, after `verify`."""
    name = f"{package.dist}-v{package.version}"
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True).stdout:
        raise ReleaseError("there are changes that are not committed")
    verify(name, packages(), project())
    subprocess.run(
        ["git", "tag", "-a", name, "-m", f"{package.dist} {package.version}"], cwd=ROOT, check=True
    )
    return name
