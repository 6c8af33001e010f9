"""Releases one package.

`python -m tools.release prepare DIST X.Y.Z` writes the version and moves the fragments of `changes/` into CHANGELOG.md;
`python -m tools.release tag DIST` tags the commit that holds it, `<dist>-vX.Y.Z`;
`python -m tools.release verify TAG` fails unless the tag, the version and the changelog agree, and prints the package.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys

from tools.packages import ROOT, Package, packages

TAG = re.compile(r"^(?P<dist>[a-z][a-z-]*)-v(?P<version>\d+\.\d+\.\d+)$")


class ReleaseError(Exception):
    """What stands in the way of a release."""


def find(dist: str, every: dict[str, Package]) -> Package:
    """The package of that name."""
    if dist not in every:
        raise ReleaseError(f"there is no package {dist!r}; packages: {', '.join(every)}")
    return every[dist]


def next_version(package: Package, version: str) -> str:
    """Checks that `version` is X.Y.Z and newer than the package's."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ReleaseError(f"version {version!r}: expected X.Y.Z")
    if tuple(map(int, version.split("."))) <= tuple(map(int, package.version.split("."))):
        raise ReleaseError(f"version {version}: expected one above {package.version}")
    return version


def set_version(package: Package, version: str) -> None:
    """Writes the version to the one place where it stands."""
    file = package.version_file
    file.write_text(file.read_text().replace(f'"{package.version}"', f'"{version}"'))


def has_section(package: Package, version: str) -> bool:
    """Whether the changelog tells what is new in a version."""
    return f"\n## {version} (" in (package.folder / "CHANGELOG.md").read_text()


def prepare(package: Package, version: str) -> None:
    """Writes version and changelog; committing is left to the caller."""
    fragments = list((package.folder / "changes").glob("*.md"))
    if not fragments:
        raise ReleaseError(f"{package.dist}: changes/ is empty, so there is nothing to tell about {version}")
    set_version(package, next_version(package, version))
    command = ["towncrier", "build", "--yes", "--version", version, "--dir", str(package.folder)]
    subprocess.run(command, cwd=package.folder, check=True)


def verify(tag: str, every: dict[str, Package]) -> Package:
    """The package that a tag releases."""
    parts = TAG.match(tag)
    if parts is None:
        raise ReleaseError(f"tag {tag!r}: expected <dist>-vX.Y.Z")
    package = find(parts["dist"], every)
    if package.version != parts["version"]:
        raise ReleaseError(f"tag {tag}: the version of {package.dist} is {package.version}")
    if not has_section(package, package.version):
        raise ReleaseError(f"tag {tag}: CHANGELOG.md of {package.dist} has no section for {package.version}")
    return package


def tag(package: Package) -> str:
    """Tags HEAD with the package's version."""
    name = f"{package.dist}-v{package.version}"
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True).stdout:
        raise ReleaseError("there are changes that are not committed")
    verify(name, packages())
    subprocess.run(
        ["git", "tag", "-a", name, "-m", f"{package.dist} {package.version}"], cwd=ROOT, check=True
    )
    return name


def main(arguments: list[str] | None = None) -> int:
    """Does one step."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    preparing = steps.add_parser("prepare")
    preparing.add_argument("dist")
    preparing.add_argument("version")
    steps.add_parser("tag").add_argument("dist")
    steps.add_parser("verify").add_argument("tag")
    options = parser.parse_args(arguments)
    every = packages()
    try:
        if options.step == "prepare":
            prepare(find(options.dist, every), options.version)
        elif options.step == "tag":
            print(tag(find(options.dist, every)))
        else:
            print(verify(options.tag, every).dist)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
