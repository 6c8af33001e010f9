"""`python -m tools.cpp_clients.sources FOLDER [NAME ...]`: compiles the C++ of published packages, unchanged, on tl.

FOLDER has the packages' sources, one folder each: `nox -s cpp-sources` fetches them. A package whose folder is absent
is counted as not compiled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tl_core.extensions import cpp_extension
from tools.cpp_clients.source_packages import PACKAGES, Package

FILES = 0.97  # of the files compile, at least
WHOLE = 11  # packages compile whole, at least


def sources(folder: Path, package: Package) -> Iterator[Path]:
    """The files of a package, without those for CUDA.

    Args:
        folder (Path): The folder of the package.
        package (Package): Its patterns.

    Yields:
        Path: A file.
    """
    for pattern in package.files.split():
        yield from sorted(f for f in folder.glob(pattern) if "cuda" not in f.name)


def compiled(file: Path, folders: list[Path]) -> str:
    """Compiles a file without writing an object.

    Args:
        file (Path): The file.
        folders (list[Path]): Folders of headers beside tl's.

    Returns:
        str: The compiler's words if it fails, or "".
    """
    pybind = cpp_extension._pybind_include()
    system = [*cpp_extension.include_paths(), sysconfig.get_path("include"), *pybind]
    command = [cpp_extension.get_cxx_compiler(), "-std=c++17", "-fsyntax-only", "-w", "-fopenmp"]
    command += ["-fmax-errors=5", "-DTORCH_EXTENSION_NAME=module"]
    command += [*(f"-isystem{f}" for f in system), *(f"-I{f}" for f in folders), str(file)]
    process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return process.stderr or "the compiler failed" if process.returncode else ""


def main() -> int:
    """Compiles and counts; the status is 1 below a bound."""
    parser = argparse.ArgumentParser(prog="python -m tools.cpp_clients.sources", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    total = good = whole = 0
    chosen = options.names or list(PACKAGES)
    for name in chosen:
        package, folder = PACKAGES[name], options.folder / name
        files = list(sources(folder, package))
        include = [folder / f for f in package.include.split()]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            said = list(pool.map(lambda f, folders=include: compiled(f, folders), files))
        for file, words in zip(files, said, strict=True):
            if words:
                print(f"{file.relative_to(folder)}\n{words}")
        passed = said.count("")
        print(f"{name:16}{passed:4} of {len(files)}", flush=True)
        total, good, whole = total + len(files), good + passed, whole + (0 < len(files) == passed)
    print(f"{good} of {total} files, {whole} of {len(chosen)} packages")
    return 0 if total and good >= FILES * total and (whole >= WHOLE or options.names) else 1


if __name__ == "__main__":
    sys.exit(main())
