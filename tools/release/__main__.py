"""`python -m tools.release STEP`: releases one package.

prepare DIST X.Y.Z  writes the version, the bounds and CHANGELOG.md from the fragments of `changes/`
tag DIST            tags HEAD with `<dist>-vX.Y.Z`
verify TAG          fails unless tag, version, changelog, address and name fit, and prints the package
notes TAG           prints the section of the changelog, for the page of the release
names [FILE]        prints the names that an index refuses; FILE has registered names, one a line
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.packages import packages
from tools.project import project
from tools.release.look_alikes import collisions
from tools.release.versions import TAG, ReleaseError, find, prepare, section, tag, verify


def run_prepare(options: argparse.Namespace) -> int:
    """Prints the packages that need a release after this one."""
    others = prepare(find(options.dist, packages()), options.version)
    if others:
        print(f"the bounds changed, release too: {', '.join(others)}")
    return 0


def run_tag(options: argparse.Namespace) -> int:
    """Prints the tag."""
    print(tag(find(options.dist, packages())))
    return 0


def run_verify(options: argparse.Namespace) -> int:
    """Prints the package of a tag."""
    print(verify(options.tag, packages(), project()).dist)
    return 0


def run_notes(options: argparse.Namespace) -> int:
    """Prints the section of the changelog for a tag."""
    parts = TAG.match(options.tag)
    if parts is None:
        raise ReleaseError(f"tag {options.tag!r}: expected <dist>-vX.Y.Z")
    print(section(find(parts["dist"], packages()), parts["version"]))
    return 0


def run_names(options: argparse.Namespace) -> int:
    """Prints the names that an index refuses; the exit status is 1 if there are any."""
    names = [package.distribution for package in packages().values()]
    refused = collisions(names, options.file.read_text() if options.file else None)
    for each in refused:
        print(f"{each.name} looks like {each.other}")
    print(f"{len(refused)} of {len(names)} names would be refused")
    return 1 if refused else 0


def parser() -> argparse.ArgumentParser:
    """The options of each step."""
    result = argparse.ArgumentParser(
        prog="python -m tools.release",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = result.add_subparsers(dest="step", required=True)
    arguments = {"prepare": ("dist", "version"), "tag": ("dist",), "verify": ("tag",), "notes": ("tag",)}
    functions = {"prepare": run_prepare, "tag": run_tag, "verify": run_verify, "notes": run_notes}
    for step, function in functions.items():
        own = steps.add_parser(step)
        own.set_defaults(function=function)
        for name in arguments[step]:
            own.add_argument(name)
    names = steps.add_parser("names")
    names.set_defaults(function=run_names)
    names.add_argument("file", nargs="?", type=Path)
    return result


def main(arguments: list[str] | None = None) -> int:
    """Runs one step."""
    options = parser().parse_args(arguments)
    try:
        return int(options.function(options))
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
