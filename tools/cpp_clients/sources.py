"""`python -m tools.cpp_clients.sources FOLDER [NAME ...]`: compiles the C++ of published packages, unchanged, on tl.

FOLDER has the packages' sources, one folder each: `nox -s cpp-sources` fetches them. A package whose folder is absent
is counted as not compiled. `--results` builds the packages whole and checks what their operators return.
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


def command_of(folder: Path, package: Package) -> list[str]:
    """The compiler's command for the files of a package.

    Args:
        folder (Path): The folder of the package.
        package (Package): Its folders of headers.

    Returns:
        list[str]: The command without a file.
    """
    system = [*cpp_extension.include_paths(), sysconfig.get_path("include"), *cpp_extension._pybind_include()]
    command = [cpp_extension.get_cxx_compiler(), "-std=c++17", "-w", "-fopenmp", "-fmax-errors=5"]
    command += ["-DTORCH_API_INCLUDE_EXTENSION_H", *package.flags.split()]
    command.append(f"-DTORCH_EXTENSION_NAME={package.module or 'module'}")
    return [
        *command,
        *(f"-isystem{f}" for f in system),
        *(f"-I{folder / f}" for f in package.include.split()),
    ]


def compilation(command: list[str], file: Path) -> list[str]:
    """The command for one file.

    Args:
        command (list[str]): The command for files in C++.
        file (Path): The file. C has no standard of C++.

    Returns:
        list[str]: The command.
    """
    flags = command if file.suffix != ".c" else [w for w in command if not w.startswith("-std=")]
    return [*flags, "-x", "c" if file.suffix == ".c" else "c++", str(file)]


def words_of(command: list[str]) -> str:
    """Runs the compiler.

    Args:
        command (list[str]): Its command.

    Returns:
        str: The compiler's words if it fails, or "".
    """
    process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return process.stderr or "the compiler failed" if process.returncode else ""


def outcomes(command: list[str], folder: Path, files: list[Path], build: Path | None) -> list[str]:
    """Compiles the files of a package, two at a time or more, and prints what the compiler says.

    Args:
        command (list[str]): The compiler's command.
        folder (Path): The folder of the package.
        files (list[Path]): Its files.
        build (Path | None): The folder of the objects. Without one, only the syntax is checked.

    Returns:
        list[str]: The compiler's words for each file; "" if it compiles.
    """

    def outcome(file: Path) -> str:
        target = ["-fsyntax-only"] if build is None else ["-c", "-o", str(object_of(build, folder, file))]
        return words_of([*compilation(command, file), *target])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        said = list(pool.map(outcome, files))
    for file, words in zip(files, said, strict=True):
        if words:
            print(f"{file.relative_to(folder)}\n{words}")
    return said


def object_of(build: Path, folder: Path, file: Path) -> Path:
    """The object of a file.

    Args:
        build (Path): The folder of the objects.
        folder (Path): The folder of the package.
        file (Path): The file.

    Returns:
        Path: The object.
    """
    return build / (str(file.relative_to(folder)).replace("/", "_") + ".o")


def agrees(folder: Path, name: str, files: list[Path], build: Path) -> bool:
    """Links a package whole and checks its results.

    Args:
        folder (Path): The folder of the package.
        name (str): Its name.
        files (list[Path]): Its files.
        build (Path): The folder of their objects.

    Returns:
        bool: Whether all results agree.
    """
    library = build / f"{PACKAGES[name].module or 'module'}.so"
    objects = [str(object_of(build, folder, f)) for f in files]
    said = words_of([cpp_extension.get_cxx_compiler(), "-shared", "-fopenmp", "-o", str(library), *objects])
    if said:
        print(said)
        return False
    child = [sys.executable, "-m", "tools.cpp_clients.source_results", str(library), name]
    return subprocess.run(child, check=False).returncode == 0


def main() -> int:
    """Compiles and counts; the status is 1 below a bound."""
    parser = argparse.ArgumentParser(prog="python -m tools.cpp_clients.sources", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--results", action="store_true")
    options = parser.parse_args()
    total = good = whole = 0
    chosen = options.names or list(PACKAGES)
    for name in chosen:
        package, folder = PACKAGES[name], options.folder / name
        files = list(sources(folder, package))
        command = command_of(folder, package)
        build = folder / "tl-build" if options.results else None
        if build is not None:
            build.mkdir(exist_ok=True)
            command += ["-O1", "-fPIC", "-fvisibility=hidden"]
        passed = outcomes(command, folder, files, build).count("")
        print(f"{name:16}{passed:4} of {len(files)}", flush=True)
        is_whole = 0 < len(files) == passed
        if build is not None and is_whole:
            is_whole = agrees(folder, name, files, build)
        total, good, whole = total + len(files), good + passed, whole + is_whole
    print(f"{good} of {total} files, {whole} of {len(chosen)} packages")
    return 0 if total and good >= FILES * total and (whole >= WHOLE or options.names) else 1


if __name__ == "__main__":
    sys.exit(main())
