"""Builds the packages' wheels once: a wheel lies in dist/<package>-<digest>/, named after all that went into it.

`python -m tools.wheels [--sanitize KIND] [DIST ...]` prints the wheels' paths.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.packages import ROOT, Package, packages

# What does not reach a wheel, or is made by the build.
OUTSIDE = {"tests", "changes", "build", "dist", "vendor", "__pycache__", "generated"}
BUILDS = 2  # builds at a time
SWITCHES = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "TL_PORTABLE")


def inputs(package: Package) -> list[Path]:
    """The files that a package's wheel is made from."""
    folders = [package.folder]
    if package.is_native:
        folders += [package.folder.parent / "tl-core" / name for name in ("include", "cmake")]
    files = (f for folder in folders for f in folder.rglob("*") if f.is_file() and f.suffix != ".so")
    return sorted(f for f in files if not any(map(_is_outside, f.relative_to(package.folder.parent).parts)))


def _is_outside(part: str) -> bool:
    return part in OUTSIDE or part.startswith(".")


def digest(package: Package, sanitize: str) -> str:
    """A name for everything that went into a wheel: its files, the interpreter, the machine and the switches."""
    sums = hashlib.sha256()
    for word in (sys.version, platform.machine(), sanitize, *(os.environ.get(s, "") for s in SWITCHES)):
        sums.update(word.encode() + b"\0")
    for file in inputs(package):
        sums.update(str(file.relative_to(package.folder.parent)).encode() + b"\0" + file.read_bytes() + b"\0")
    return sums.hexdigest()[:16]


def build_environment(todo: list[Package]) -> Path:
    """An interpreter with everything that building needs; kept, so that compiled files stay valid."""
    folder = ROOT / ".nox" / "build-tools"
    python = folder / "bin" / "python"
    requirements = sorted({r for p in todo for r in p.build_requirements})
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text().split("\n") != requirements:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        stamp.write_text("\n".join(requirements))
    return python


def build(package: Package, python: Path, folder: Path, switches: dict[str, str] | None = None) -> None:
    """Makes one wheel in `folder`, with more environment variables for the build."""
    scratch = folder.with_suffix(".part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.parent.mkdir(exist_ok=True)
    environment = {"CMAKE_BUILD_PARALLEL_LEVEL": str(len(os.sched_getaffinity(0))), **os.environ}
    environment["PATH"] = f"{python.parent}{os.pathsep}{environment['PATH']}"
    environment |= switches or {}
    command = [str(python), "-m", "hatchling", "build", "--target", "wheel", "--directory", str(scratch)]
    subprocess.run(command, cwd=package.folder, env=environment, check=True, stdout=sys.stderr)
    scratch.rename(folder)


def sanitizer_switches(sanitize: str) -> dict[str, str]:
    """What makes a build one with sanitizers: `address` (with UBSan) or `thread`."""
    if not sanitize:
        return {}
    # Threads are alike on every level, and the wide levels' intrinsics carry no checks of addresses.
    portable = "ON" if sanitize == "thread" else os.environ.get("TL_PORTABLE", "OFF")
    defined = f"TL_SANITIZE={sanitize};TL_PORTABLE={portable}"
    return {
        "SKBUILD_BUILD_DIR": f"build/sanitize-{sanitize}",
        "SKBUILD_CMAKE_DEFINE": defined,
        "SKBUILD_INSTALL_STRIP": "false",
    }


def cached(package: Package, sanitize: str = "") -> Path:
    """The folder of the package's wheel, which exists once the wheel is built."""
    kind = f"{package.dist}-{sanitize}" if sanitize else package.dist
    return ROOT / "dist" / f"{kind}-{digest(package, sanitize)}"


def wheel(package: Package, sanitize: str = "", python: Path | None = None) -> Path:
    """The package's wheel, built if there is none of this content yet."""
    folder = cached(package, sanitize)
    if not folder.exists():
        kind = folder.name.rpartition("-")[0]
        for old in folder.parent.glob(f"{kind}-{'[0-9a-f]' * 16}"):
            shutil.rmtree(old)
        tools = python or build_environment(list(packages().values()))
        detail = ", which compiles C++ for some minutes" if package.is_native else ""
        print(f"building {package.dist}{detail}", file=sys.stderr, flush=True)
        build(package, tools, folder, sanitizer_switches(sanitize))
    (found,) = folder.glob("*.whl")
    return found


def wheels(dists: list[str] | None = None, sanitize: str = "") -> list[Path]:
    """The wheels of the given packages and all they depend on."""
    every = packages()
    wanted = set(dists or every)
    for package in reversed(every.values()):
        if package.dist in wanted:
            wanted.update(d for d in package.dependencies if d in every)
    chosen = [(p, sanitize if p.is_native else "") for p in every.values() if p.dist in wanted]
    if all(cached(package, kind).exists() for package, kind in chosen):
        return [wheel(package, kind) for package, kind in chosen]
    python = build_environment([*every.values()])
    # tl-core takes longest. Beside it all others are built, which read its headers and no result of its build: no
    # processor waits for a configuration or a link.
    with ThreadPoolExecutor(BUILDS) as pool:
        return [*pool.map(lambda each: wheel(each[0], each[1], python), chosen)]


def main() -> None:
    """Builds and prints."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description=__doc__)
    parser.add_argument(
        "--sanitize", choices=["address", "thread"], default="", help="of the native packages"
    )
    parser.add_argument("dist", nargs="*", help="packages, with what they depend on (all)")
    options = parser.parse_args()
    for path in wheels(options.dist, options.sanitize):
        print(path)


if __name__ == "__main__":
    main()
