"""`python -m tools.release.rehearsal FOLDER`: every step of a release up to the upload, for all packages.

The steps build wheels and source distributions into FOLDER, and build both again elsewhere: the bytes must be equal.
They check metadata, records, tags, licences, sizes, and paths of this machine. They build the changelogs in a copy of
the repository, and install all packages into a fresh environment from FOLDER alone, where the smoke tests run.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tools import sizes, wheels
from tools.packages import ROOT, TABLE, TOTAL_CEILING, Package, packages
from tools.release import archives, wheel_rules
from tools.release.environments import Environment, download
from tools.release.look_alikes import collisions
from tools.release.steps import Steps
from tools.release.versions import prepare, section


class Rehearsal:
    """The archives of all packages in a folder, and the checks of them.

    Args:
        folder: a folder for all results, which is emptied.
    """

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.every = packages()
        self.wheelhouse, self.sdists = folder / "wheels", folder / "sdists"
        self.others, self.scratch = folder / "requirements", folder / "scratch"
        for each in (self.wheelhouse, self.sdists, self.others, self.scratch):
            each.mkdir(parents=True)
        self.python = wheels.build_environment([*self.every.values()])

    def wheel(self, package: Package) -> Path:
        """The wheel of a package."""
        (path,) = self.wheelhouse.glob(f"{package.distribution.replace('-', '_')}-*.whl")
        return path

    def sdist(self, package: Package) -> Path:
        """The source distribution of a package."""
        (path,) = self.sdists.glob(f"{package.distribution.replace('-', '_')}-*.tar.gz")
        return path

    def build_wheels(self) -> list[str]:
        """Copies the wheels, which are built where no wheel of the same content is cached."""
        for path in wheels.wheels():
            shutil.copy2(path, self.wheelhouse)
        return []

    def build_sdists(self) -> list[str]:
        """Builds the source distributions."""
        for package in self.every.values():
            archives.build_sdist(package, self.python, self.sdists)
        return []

    def copy_repository(self) -> list[str]:
        """Copies the files that git does not ignore to another folder."""
        command = [
            "git",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "packages",
            ".gitignore",
        ]
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, output.split("\0")):
            if (ROOT / name).exists():
                (self.copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.copy / name)
        return []

    @property
    def copy(self) -> Path:
        """The copy of the repository."""
        return self.scratch / "copy"

    def rebuild_sdists(self) -> list[str]:
        """Differences between the source distributions and the same built in the copy."""
        (self.scratch / "sdists").mkdir()
        faults: list[str] = []
        for package in packages(self.copy).values():
            again = archives.build_sdist(package, self.python, self.scratch / "sdists")
            faults += _named(again, archives.differences(self.sdist(package), again))
        return faults

    def rebuild_wheels(self) -> list[str]:
        """Differences between the wheels and those built from the source distributions."""
        faults: list[str] = []
        for package in self.every.values():
            source = archives.unpack(self.sdist(package), self.scratch / "sources")
            target = self.scratch / "wheels" / package.dist
            target.parent.mkdir(exist_ok=True)
            wheels.build(Package(source), self.python, target)
            (again,) = target.glob("*.whl")
            faults += _named(again, archives.differences(self.wheel(package), again))
        return faults

    def check_rules(self) -> list[str]:
        """Broken rules of the wheels."""
        return [f for p in self.every.values() for f in wheel_rules.faults(self.wheel(p), p)]

    def check_metadata(self) -> list[str]:
        """Complaints of twine, which reads metadata as an index does, and of check-wheel-contents."""
        built = sorted(str(path) for path in (*self.wheelhouse.iterdir(), *self.sdists.iterdir()))
        own = [path for path in built if path.endswith(".whl")]
        faults: list[str] = []
        for command in (
            ["twine", "check", "--strict", *built],
            ["check_wheel_contents", "--ignore", "W002,W009", *own],
        ):
            result = subprocess.run(
                [sys.executable, "-m", *command], capture_output=True, text=True, check=False
            )
            lines = f"{result.stdout}{result.stderr}".splitlines()
            faults += (
                [line for line in lines if not line.endswith(("PASSED", ": OK"))] if result.returncode else []
            )
        return faults

    def check_sizes(self) -> list[str]:
        """Packages above their ceilings."""
        unpacked = {dist: sizes.unpacked(self.wheel(package)) for dist, package in self.every.items()}
        lines, _ = sizes.report(unpacked, {dist: d.ceiling for dist, d in TABLE.items()}, TOTAL_CEILING)
        print(f"        {lines[-1]}")
        return [line for line in lines if "too big" in line]

    def check_changelogs(self) -> list[str]:
        """Packages whose fragments make no section of a changelog; the sections stay in the copy."""
        faults = []
        for package in packages(self.copy).values():
            if not list((package.folder / "changes").glob("*.md")):
                print(f"        {package.dist}: changes/ is empty, no release")
                continue
            prepare(package, package.version)
            text = section(package, package.version)
            print(f"        {package.dist} {package.version}: {text.count(chr(10) + '- ') + 1} entries")
            faults += [] if text else [f"{package.dist}: the section of {package.version} is empty"]
        return faults

    def install(self) -> list[str]:
        """Installs the package that requires all others into a fresh environment, without an index."""
        download(self.every, self.others)
        environment = Environment(self.scratch / "environment", [self.wheelhouse, self.others])
        return environment.install(*(p.distribution for p in self.every.values())) or environment.check()

    def names(self) -> list[str]:
        """Prints the names that an index would refuse: a choice before the first upload, and no fault today."""
        for each in collisions([package.distribution for package in self.every.values()]):
            print(f"        an index refuses {each.name}, which looks like {each.other}")
        return []


def _named(archive: Path, names: list[str]) -> list[str]:
    return [f"{archive.name} differs in {', '.join(names[:5])}"] if names else []


def main() -> int:
    """Runs the steps; the exit status is 1 if one has a fault."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.rehearsal", description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    rehearsal, steps = Rehearsal(options.folder.resolve()), Steps()
    steps.run("wheels", rehearsal.build_wheels)
    steps.run("source distributions", rehearsal.build_sdists)
    steps.run("rules of wheels: records, tags, licences, metadata, paths", rehearsal.check_rules)
    steps.run("twine and check-wheel-contents", rehearsal.check_metadata)
    steps.run("sizes", rehearsal.check_sizes)
    steps.run("names", rehearsal.names)
    steps.run("installation from the folder alone, smoke tests", rehearsal.install)
    steps.run("a copy of the packages", rehearsal.copy_repository)
    steps.run("equal source distributions from the copy", rehearsal.rebuild_sdists)
    steps.run("changelogs in the copy", rehearsal.check_changelogs)
    steps.run("equal wheels from the source distributions", rehearsal.rebuild_wheels)
    return steps.close()


if __name__ == "__main__":
    sys.exit(main())
