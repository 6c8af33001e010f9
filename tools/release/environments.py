"""Fresh environments that install from folders alone, without an index."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

from tools.packages import ROOT, Package, packages

SMOKE = Path(__file__).with_name("smoke.py")


class Environment:
    """A virtual environment whose pip reads folders only.

    Args:
        folder: the folder of the environment.
        wheelhouses: the folders with the wheels.
    """

    def __init__(self, folder: Path, wheelhouses: list[Path]) -> None:
        venv.create(folder, with_pip=True, clear=True)
        self.python = folder / "bin" / "python"
        self.offline = ["--no-index", *(f"--find-links={path}" for path in wheelhouses)]

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs the interpreter from another folder than the repository's."""
        command = [str(self.python), *arguments]
        environment = {"PATH": "/usr/bin:/bin", **variables}
        return subprocess.run(
            command, cwd=self.python.parent, env=environment, capture_output=True, text=True, check=False
        )

    def pip(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs pip without an index and without byte code, which takes longer than the installation."""
        more = [*self.offline, "--no-compile"] if arguments[0] == "install" else []
        return self.run(
            "-m", "pip", "--disable-pip-version-check", arguments[0], "--quiet", *more, *arguments[1:]
        )

    def install(self, *requirements: str) -> list[str]:
        """Installs; the result has pip's message if it fails."""
        return failure(self.pip("install", *requirements))

    def check(self, *dists: str) -> list[str]:
        """The faults of `pip check`, and of the smoke tests of packages (all by default)."""
        return failure(self.pip("check")) + failure(self.run("-I", str(SMOKE), *dists))

    def meet(self, dist: str) -> list[str]:
        """The calls between an installed package and the others that fail."""
        name = packages()[dist].import_name
        return failure(self.run("-m", "tools.interfaces", "--installed", name, PYTHONPATH=str(ROOT)))


def external(every: dict[str, Package]) -> Iterator[str]:
    """The requirements of other projects that the packages always need, those of required extras too."""
    for package in every.values():
        texts = package.settings["project"].get("dependencies", [])
        for text, dist in zip(texts, package.dependencies, strict=True):
            extras = text.partition("]")[0].partition("[")[2]
            if dist not in every:
                yield text
            elif extras:
                yield from (r for extra in extras.split(",") for r in every[dist].extras[extra])


def download(every: dict[str, Package], folder: Path) -> None:
    """Downloads the requirements of other projects into a folder, if there are any."""
    requirements = sorted({*external(every)})
    if requirements:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", str(folder), *requirements], check=True)


def failure(result: subprocess.CompletedProcess[str]) -> list[str]:
    """The last lines of a failed command, as one fault."""
    if result.returncode == 0:
        return []
    text = f"{result.stdout}\n{result.stderr}".strip().splitlines()
    return [" | ".join(text[-3:]) or f"exit status {result.returncode}"]
