"""A small repository with violations planted in it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

PYPROJECT = """
[build-system]
requires = ["hatchling"]
[project]
name = "{dist}"
dependencies = {dependencies}
[project.optional-dependencies]
{extras}
[tool.hatch.version]
path = "src/{name}/version.py"
[tool.hatch.build.targets.wheel]
packages = ["src/{name}"]
"""


class Repository:
    """Writes packages into a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def package(self, dist: str, name: str, dependencies: list[str], extras: str = "") -> Path:
        folder = self.root / "packages" / dist
        (folder / "src" / name).mkdir(parents=True)
        text = PYPROJECT.format(dist=dist, name=name, dependencies=dependencies, extras=extras)
        (folder / "pyproject.toml").write_text(text.replace("'", '"'))
        (folder / "src" / name / "version.py").write_text('__version__ = "0.1.0"\n')
        (folder / "src" / name / "__init__.py").write_text("")
        return folder

    def write(self, path: str, text: str) -> None:
        file = self.root / "packages" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def repository(tmp_path):
    """tl-core, tl-autograd and tl-all without a line of code."""
    made = Repository(tmp_path)
    made.package("tl-core", "tl_core", [], 'numpy = ["numpy>=1"]')
    made.package("tl-autograd", "tl_autograd", ["tl-core>=0.1,<1"])
    made.package("tl-all", "tl", ["tl-core>=0.1,<1", "tl-autograd>=0.1,<1"])
    return made
