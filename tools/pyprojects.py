"""`python -m tools.pyprojects [--write]`: the settings that follow `project.toml` and the versions of the packages.

The tool writes into each pyproject.toml the name of the distribution, the bounds of the packages that it requires, the
versions of Python and the addresses. It writes the versions of Python into the workflows and the linters' settings, and
the prefix into the pip lines of messages. Without --write, the command names the files that differ, and its exit status
is 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.packages import ROOT, Package, packages
from tools.project import Project, project

TESTS, WHEELS = ".github/workflows/tests.yml", ".github/workflows/wheels.yml"
SETTINGS, CITATION, RECIPE = "pyproject.toml", ".github/CITATION.cff", "tools/images/recipe.yaml"
EXTRAS = "[project.optional-dependencies]"
CLASSIFIER = "Programming Language :: Python :: 3"


@dataclass(frozen=True)
class Family:
    """The packages of a repository by the last part of their names, and the names that they have now.

    Args:
        facts: the facts that the files must state.
        versions: the version of each package, by `dist`.
        names: the name of each package in its pyproject.toml, by `dist`.
    """

    facts: Project
    versions: dict[str, str]
    names: dict[str, str]

    def pattern(self) -> str:
        """A regular expression of the present names and the names by `facts`."""
        every = {*self.names.values(), *map(self.facts.distribution, self.names)}
        return "|".join(sorted(map(re.escape, every), key=len, reverse=True))

    def dist(self, name: str) -> str:
        """The package of a name that `pattern` matches."""
        return next((dist for dist, other in self.names.items() if other == name), self.facts.dist(name))


def bounds(version: str) -> str:
    """The versions that a package may meet another package in: one minor version of 0.x, or one major version.

    Args:
        version: the version of the other package, as X.Y.Z.

    Example:
        >>> bounds("0.3.2"), bounds("2.1.0")
        ('>=0.3,<0.4', '>=2.1,<3')
    """
    major, minor, _ = map(int, version.split("."))
    return f">={major}.{minor},<{major + 1 if major else f'0.{minor + 1}'}"


def requirement(family: Family, match: re.Match[str]) -> str:
    """A requirement in quotation marks, with the present name and bounds; an extra of the package has no bounds."""
    dist = family.dist(match["name"])
    limits = bounds(family.versions[dist]) if match["bounds"] else ""
    return f'"{family.facts.distribution(dist)}{match["extras"] or ""}{limits}"'


def classifiers(text: str, pythons: tuple[str, ...]) -> str:
    """The text with one classifier for each version of Python."""
    lines = "".join(f'    "{CLASSIFIER}.{python.partition(".")[2]}",\n' for python in pythons)
    return re.sub(rf'(    "{CLASSIFIER}\.\d+",\n)+', lambda _: lines, text)


def addresses(package: str, repository: str) -> str:
    """The table of the addresses, which an index shows beside the description."""
    rows = {
        "Source": repository,
        "Documentation": f"{repository}/tree/main/docs",
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/main/packages/{package}/CHANGELOG.md",
    }
    return "[project.urls]\n" + "".join(f'{name} = "{address}"\n' for name, address in rows.items())


def settings(package: Package, family: Family, text: str) -> str:
    """The pyproject.toml of a package.

    Args:
        package: the package.
        family: all packages of the repository.
        text: the file as it is.
    """
    facts = family.facts
    text = re.sub(r'(?m)^(requires-python = )".*"', rf'\1">={facts.pythons[0]}"', text)
    text = classifiers(text, facts.pythons)
    quoted = rf'"(?P<name>{family.pattern()})(?P<extras>\[[^]"]*\])?(?P<bounds>[<>=~][^"]*)?"'
    text = re.sub(quoted, partial(requirement, family), text)
    text = re.sub(r"\[project\.urls\]\n(.+\n)+\n", "", text)
    urls = addresses(package.dist, facts.repository)
    return text.replace(EXTRAS, f"{urls}\n{EXTRAS}", 1)


def messages(package: Package, family: Family) -> Iterator[tuple[Path, str]]:
    """The modules with pip lines in their messages, with the text that each must have."""
    words = r"(?P<command>pip install (?:-\S+ )*['\"]?)"
    line = re.compile(rf"{words}(?P<name>{family.pattern()})(?![\w-])")
    for file in sorted(package.source.rglob("*.py")):
        text = file.read_text()
        if "pip install" in text:
            yield file, line.sub(partial(_pip_line, family), text)


def _pip_line(family: Family, match: re.Match[str]) -> str:
    return match["command"] + family.facts.distribution(family.dist(match["name"]))


def continuous_integration(root: Path, pythons: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """The workflows and the settings of the linters, with the text that each must have."""
    tests, wheels, linters = root / TESTS, root / WHEELS, root / SETTINGS
    quoted = ", ".join(f'"{python}"' for python in pythons)
    yield tests, re.sub(r"(?m)^( +python: )\[.*\]", rf"\1[{quoted}]", tests.read_text())
    builds = " ".join(f"cp{python.replace('.', '')}-manylinux_*" for python in pythons)
    yield wheels, re.sub(r'(?m)^( +CIBW_BUILD: )".*"', rf'\1"{builds}"', wheels.read_text())
    oldest = pythons[0]
    text = re.sub(r'(?m)^(target-version = )".*"', rf'\1"py{oldest.replace(".", "")}"', linters.read_text())
    yield linters, re.sub(r'(?m)^(python_version = )".*"', rf'\1"{oldest}"', text)


def descriptions(root: Path, family: Family) -> Iterator[tuple[Path, str]]:
    """The citation and the recipe, with the address and the version of the package that assembles all others."""
    for file in (root / CITATION, root / RECIPE):
        address = rf'\1"{family.facts.repository}"'
        text = re.sub(r'(?m)^( *repository(?:-code)?: )".*"', address, file.read_text())
        yield file, re.sub(r'(?m)^( *version: )".*"', rf'\1"{family.versions["tl-all"]}"', text)


def family_of(every: dict[str, Package], facts: Project) -> Family:
    """The versions and the names of packages.

    Args:
        every: the packages, by `dist`.
        facts: the facts that the files must state.
    """
    versions = {dist: package.version for dist, package in every.items()}
    return Family(facts, versions, {dist: package.distribution for dist, package in every.items()})


def updated(every: dict[str, Package], facts: Project) -> Iterator[tuple[Path, str]]:
    """Each pyproject.toml and each module with pip lines, with the text that it must have.

    Args:
        every: the packages, by `dist`.
        facts: the facts that the files must state.
    """
    family = family_of(every, facts)
    for package in every.values():
        file = package.folder / "pyproject.toml"
        yield file, settings(package, family, file.read_text())
        yield from messages(package, family)


def write(files: Iterator[tuple[Path, str]]) -> list[Path]:
    """Writes the files that differ, and returns their paths."""
    stale = [(file, text) for file, text in files if file.read_text() != text]
    for file, text in stale:
        file.write_text(text)
    return [file for file, _ in stale]


def main() -> int:
    """Writes or compares."""
    every, facts = packages(), project()
    files = [*updated(every, facts), *continuous_integration(ROOT, facts.pythons)]
    files += descriptions(ROOT, family_of(every, facts))
    stale = [(file, text) for file, text in files if file.read_text() != text]
    for file, _ in stale:
        state = "written" if "--write" in sys.argv else "differs from tools/project.toml"
        print(f"{file.relative_to(ROOT)}: {state}")
    if "--write" in sys.argv:
        write(iter(stale))
        return 0
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
