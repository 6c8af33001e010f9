"""`python -m tools.release.compat FOLDER [--commit COMMIT]`: packages of the last release with the present others.

One package after another comes from its last release, and all others from the working tree. If their bounds allow that,
`pip check`, the smoke tests and the recorded calls between the packages must pass. If not, pip must refuse. A package
without a release comes from COMMIT, by default the parent of HEAD. Then pip's answers to the next versions are tested:
it accepts the next patch of each package, and refuses the next version outside of the bounds.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from functools import partial
from pathlib import Path

from tools import wheels
from tools.packages import Package, dist_of, packages
from tools.release import metadata_wheels, released
from tools.release.environments import Environment, download
from tools.release.steps import Steps


class Compatibility:
    """The present wheels, an environment with all of them, and the released wheels.

    Args:
        folder: a folder for all results, which is emptied.
        commit: the commit of packages that have no release.
    """

    def __init__(self, folder: Path, commit: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.folder, self.commit, self.every = folder, commit, packages()
        self.wheelhouse, self.others = folder / "wheels", folder / "requirements"
        self.old = folder / "old"
        for each in (self.wheelhouse, self.others, self.old):
            each.mkdir(parents=True)
        self.python = wheels.build_environment([*self.every.values()])
        self.heads: dict[str, Path] = {}

    def install_heads(self) -> list[str]:
        """Installs the wheels of the working tree."""
        for path in wheels.wheels():
            self.heads[dist_of(path)] = Path(shutil.copy2(path, self.wheelhouse))
        download(self.every, self.others)
        self.environment = Environment(self.folder / "environment", [self.wheelhouse, self.others])
        return self.environment.install(*map(str, self.heads.values())) or self.environment.check()

    def meet(self, dist: str) -> list[str]:
        """The faults of an old package among the present others."""
        commit = released.last_tag(dist) or self.commit
        old = shutil.copy2(released.wheel(dist, commit, self.python, self.folder), self.old)
        others = [str(path) for other, path in self.heads.items() if other != dist]
        if self.environment.pip("install", "--dry-run", str(old), *others).returncode:
            print(f"        pip refuses {Path(old).name} beside the others")
            return []
        swap = ["--no-deps", "--force-reinstall"]
        faults = self.environment.install(*swap, str(old)) or self.environment.check()
        faults += self.environment.meet(dist)
        return faults + self.environment.install(*swap, str(self.heads[dist]))

    def resolve(self, package: Package) -> list[str]:
        """The wrong answers of pip to the next versions of a package beside the packages that require it."""
        users = [p for p in self.every.values() if package.dist in p.dependencies]
        head, faults = self.heads[package.dist], []
        accepted = metadata_wheels.with_version(
            head, metadata_wheels.next_patch(package.version), self.folder
        )
        present = [str(self.heads[p.dist]) for p in users]
        if self.environment.pip("install", "--dry-run", str(accepted), *present).returncode:
            faults.append(f"pip refuses {accepted.name}, which is inside of the bounds")
        refused = metadata_wheels.with_version(head, metadata_wheels.next_bound(package.version), self.folder)
        for user in users:
            result = self.environment.pip("install", "--dry-run", str(refused), str(self.heads[user.dist]))
            if result.returncode == 0 or "conflict" not in result.stderr:
                faults.append(f"pip accepts {refused.name} beside {user.dist}")
        return faults


def main() -> int:
    """Runs the steps; the exit status is 1 if one has a fault."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.compat", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commit", default="HEAD~1", help="the commit of packages that have no release")
    options = parser.parse_args()
    compatibility, steps = Compatibility(options.folder.resolve(), options.commit), Steps()
    steps.run("all packages of the working tree", compatibility.install_heads)
    for dist in compatibility.every:
        origin = released.last_tag(dist) or options.commit
        steps.run(f"{dist} of {origin} with the others", partial(compatibility.meet, dist))
    for package in compatibility.every.values():
        steps.run(f"pip on the next versions of {package.dist}", partial(compatibility.resolve, package))
    return steps.close()


if __name__ == "__main__":
    sys.exit(main())
