"""Builds the extensions under `extensions/` with the system's compiler, as their users would."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

import tl_core

SOURCES = Path(__file__).parent / "extensions"
FLAGS = {
    ".c": ["cc", "-std=c11"],
    ".cpp": ["c++", "-std=c++17"],
}


def build(name: str | Path, folder: Path, include: str | None = None, flags: tuple[str, ...] = ()) -> Path:
    """The compiled extension; the test is skipped where no compiler or no Python header is."""
    source = name if isinstance(name, Path) else next((SOURCES / name).iterdir())
    name = name.stem if isinstance(name, Path) else name
    compiler, standard = FLAGS[source.suffix]
    if shutil.which(compiler) is None:
        pytest.skip(f"no compiler named {compiler} to build an extension with")
    python = sysconfig.get_path("include")
    if not (Path(python) / "Python.h").exists():
        pytest.skip("Python's headers are not installed")
    target = folder / (name + str(sysconfig.get_config_var("EXT_SUFFIX")))
    command = [compiler, standard, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *flags]
    command += [f"-I{include or tl_core.get_include()}", f"-I{python}", str(source), "-o", str(target)]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return target


def load(path: Path) -> ModuleType:
    """The extension, imported into this process."""
    spec = importlib.util.spec_from_file_location(path.name.split(".")[0], path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def older_headers(folder: Path) -> str:
    """The headers as they were before the table's last entries were added."""
    return changed_headers(folder, "c_api.h", r"(int \(\*num_threads\)\(void\);).*?(\n\} TlApi;)", r"\1\2")


def next_minor_headers(folder: Path) -> str:
    """The headers of the next minor version, whose table has one entry more."""
    include = changed_headers(folder, "c_api.h", "TL_API_MINOR 0", "TL_API_MINOR 1")
    header = Path(include) / "tl" / "c_api.h"
    entry = "\n#if TL_API_TARGET >= 1\n  int (*newer)(int number);\n#endif\n} TlApi;"
    header.write_text(header.read_text().replace("\n} TlApi;", entry))
    return include


def changed_headers(folder: Path, name: str, pattern: str, replacement: str) -> str:
    """The folder of a copy of the headers, one of which has another text where a pattern matches."""
    include = folder / "include"
    shutil.copytree(Path(tl_core.get_include()) / "tl", include / "tl")
    header = include / "tl" / name
    text = header.read_text()
    other = re.sub(pattern, replacement, text, flags=re.DOTALL)
    assert other != text
    header.write_text(other)
    return str(include)
