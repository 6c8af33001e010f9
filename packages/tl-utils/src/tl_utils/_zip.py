"""`python -m tl.utils._zip FILE… --install-dir DIR --strip-dir DIR --zip-name NAME`: Python sources in a ZIP file.

A folder means the `.py` files in and below it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from tl_core.memory.whole_files import replacing

__all__ = ["DENY_LIST", "main", "remove_prefix", "write_to_zip"]

# What an interpreter in a ZIP file does without: windows, tests, and the importers that are built in.
DENY_LIST = ["dbm", "curses", "tkinter", "test", "tests", "idle_test", "__phello__.foo.py", "_bootstrap.py",
             "_bootstrap_external.py"]  # fmt: skip


def remove_prefix(text: str, prefix: str) -> str:
    """The text without a prefix, if it has it.

    Example:
        >>> remove_prefix("src/a.py", "src/")
        'a.py'
    """
    return text.removeprefix(prefix)


def write_to_zip(
    file_path: str | Path, strip_file_path: str | Path, zf: ZipFile, prepend_str: str = ""
) -> None:
    """Puts a file into a ZIP file, unless its name or its folder's is in `DENY_LIST`.

    Args:
        file_path: the file.
        strip_file_path: the folder that its name in the ZIP file is relative to.
        zf: the ZIP file.
        prepend_str: the prefix of the name.
    """
    inside = remove_prefix(str(file_path), f"{str(strip_file_path).rstrip('/')}/")
    if not set(Path(inside).parts) & set(DENY_LIST):
        zf.write(file_path, prepend_str + inside)


def _sources(path: str) -> Iterator[Path]:
    root = Path(path)
    if root.is_dir():
        yield from sorted(root.rglob("*.py"))
    elif root.is_file():
        yield root
    else:
        raise SystemExit(f"tl.utils._zip: there is no file or folder {path!r}")


def main() -> None:
    """Reads the command line, and writes the ZIP file: whole or not at all."""
    parser = argparse.ArgumentParser("python -m tl_utils._zip", description="Zip py source")
    parser.add_argument("paths", nargs="*", help="Paths to zip.")
    parser.add_argument(
        "--install-dir", "--install_dir", default=".", help="Root directory for all output files"
    )
    parser.add_argument("--strip-dir", "--strip_dir", default="",
                        help="The absolute directory we want to remove from zip")  # fmt: skip
    parser.add_argument("--prepend-str", "--prepend_str", default="",
                        help="A string to prepend onto all paths of a file in the zip")  # fmt: skip
    parser.add_argument("--zip-name", "--zip_name", default="out.zip", help="Output zip name")
    options = parser.parse_args()
    sources = [source for path in options.paths for source in _sources(path)]
    target = os.path.join(options.install_dir, options.zip_name)
    with replacing(target) as unfinished, ZipFile(unfinished, "w") as zf:
        for source in sources:
            write_to_zip(source, options.strip_dir, zf, options.prepend_str)


if __name__ == "__main__":
    main()
