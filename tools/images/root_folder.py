"""`python root_folder.py FOLDER WHEEL ...`: the root folder of a container image with Python and the wheels.

The folder contains the running interpreter, the part of its standard library that programs use, the installed wheels,
and the shared libraries that all of these load. The Dockerfile copies it into an empty image. The script needs `ldd`
and runs on Linux with glibc.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

PREFIX = Path("usr/local")
# Parts of the standard library for tests, windows, installers and other tools.
UNUSED: tuple[str, ...] = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "turtle.py",
    "ensurepip",
    "lib2to3",
    "pydoc_data",
)
UNUSED += ("site-packages", "__pycache__", "config-*", "_test*", "_tkinter*", "*.a")
FILES = {
    "etc/passwd": "root:x:0:0::/root:/bin/false\nuser:x:1000:1000::/home/user:/bin/false\n",
    "etc/group": "root:x:0:\nuser:x:1000:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def copy_python(root: Path) -> Path:
    """Copies the interpreter and its standard library.

    Args:
        root: the root folder.

    Returns:
        The folder of the installed packages.
    """
    binary = root / PREFIX / "bin" / "python3"
    binary.parent.mkdir(parents=True)
    shutil.copy2(Path(sys.executable).resolve(), binary)
    library = Path(sysconfig.get_path("stdlib"))
    target = root / PREFIX / "lib" / library.name
    shutil.copytree(library, target, ignore=shutil.ignore_patterns(*UNUSED))
    return target / "site-packages"


def install(wheels: Iterable[str], folder: Path) -> None:
    """Installs wheels, without numpy and other extras, into a folder."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "--target", str(folder), *wheels], check=True)


def libraries(files: Iterable[Path]) -> Iterator[Path]:
    """The shared libraries that binaries load, and the loader."""
    for file in files:
        output = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=False).stdout
        yield from map(Path, re.findall(r"(?:=> |^\s*)(/\S+) \(0x", output, re.MULTILINE))


def copy_libraries(root: Path) -> None:
    """Copies the shared libraries to the paths where the loader looks for them."""
    binaries = [root / PREFIX / "bin" / "python3", *root.rglob("*.so")]
    for library in sorted({*libraries(binaries)}):
        if not library.is_relative_to(root):
            target = root / library.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library.resolve(), target)


def strip(root: Path) -> None:
    """Removes the symbols that no program needs."""
    binaries = [file for pattern in ("*.so", "*.so.*", "python3") for file in root.rglob(pattern)]
    subprocess.run(["strip", "--strip-unneeded", *map(str, binaries)], check=True)


def write_files(root: Path) -> None:
    """Writes the few files and folders that programs expect."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name, mode in (("tmp", 0o1777), ("home/user", 0o777), ("work", 0o777)):
        (root / name).mkdir(parents=True)
        (root / name).chmod(mode)
    if CERTIFICATES.exists():
        target = root / CERTIFICATES.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CERTIFICATES, target)


def size(root: Path) -> int:
    """The bytes of all files."""
    return sum(file.stat().st_size for file in root.rglob("*") if file.is_file() and not file.is_symlink())


def main() -> None:
    """Writes the folder, and prints its size."""
    root, wheels = Path(sys.argv[1]), sys.argv[2:]
    install(wheels, copy_python(root))
    copy_libraries(root)
    strip(root)
    write_files(root)
    print(f"{size(root) / 1e6:.1f} MB in {root}")


if __name__ == "__main__":
    main()
