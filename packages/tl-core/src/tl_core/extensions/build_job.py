"""The build of one extension by the system's compiler: what is out of date is compiled again, then linked."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

__all__ = [
    "FolderLock",
    "Step",
    "compile_all",
    "jobs",
    "link",
    "read_dependencies",
    "require_compiler",
    "run",
]


def jobs() -> int:
    """The number of compilers that run at once: the environment variable `MAX_JOBS`, or the number of processors.

    Example:
        >>> jobs() >= 1
        True
    """
    return int(os.environ.get("MAX_JOBS") or 0) or (os.cpu_count() or 1)


def read_dependencies(text: str) -> list[str]:
    r"""The files that a compiler's list of dependencies names, without the target.

    Args:
        text: the list, as `-MD` writes it.

    Returns:
        The files.

    Example:
        >>> read_dependencies("a.o: a.cpp \\\n b\\ c.h\n")
        ['a.cpp', 'b c.h']
    """
    _, _, rest = text.replace("\\\n", " ").partition(": ")
    return [part.replace("\0", " ") for part in rest.replace("\\ ", "\0").split()]


class Step:
    """One file to be compiled.

    Args:
        command: the compiler with its flags, without the files.
        source: the file.
        output: the object file.
    """

    def __init__(self, command: Sequence[str], source: Path, output: Path) -> None:
        self.source, self.output = source, output
        self.record = output.with_name(output.name + ".json")
        self.depfile = output.with_name(output.name + ".d")
        self.command = [*command, "-MD", "-MF", str(self.depfile), "-c", str(source), "-o", str(output)]

    def is_current(self) -> bool:
        """Whether the object file is there and its command and all files that it read are as they were."""
        if not (self.output.exists() and self.record.exists()):
            return False
        try:
            stored = json.loads(self.record.read_text())
        except ValueError:  # the process that wrote it stopped
            return False
        return stored == self._facts(stored.get("files", {}))

    def write_record(self) -> None:
        """Stores what the compiler read."""
        names = read_dependencies(self.depfile.read_text()) if self.depfile.exists() else [str(self.source)]
        self.record.write_text(json.dumps(self._facts(names)))

    def _facts(self, names: Any) -> dict[str, Any]:
        return {"command": self.command, "files": {name: _state(name) for name in names}}


def _state(name: str) -> list[int]:
    """When a file was written, and its length."""
    try:
        status = Path(name).stat()
    except OSError:  # an absent file differs from every recorded one
        return []
    return [status.st_mtime_ns, status.st_size]


def run(name: str, command: Sequence[str], verbose: bool) -> None:
    """Runs a command of a build.

    Args:
        name: the extension.
        command: the command.
        verbose: whether it is printed, with what it prints.

    Raises:
        RuntimeError: it failed; the message has what it prints.
    """
    if verbose:
        print(shlex.join(command), file=sys.stderr)
    process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if process.returncode:
        output = process.stderr or process.stdout
        raise RuntimeError(f"Error building extension '{name}': {shlex.join(command)}\n{output}")
    if verbose and process.stderr:
        print(process.stderr, file=sys.stderr, end="")


def compile_all(name: str, steps: Sequence[Step], verbose: bool) -> bool:
    """Compiles the files that are out of date, several at once.

    Args:
        name: the extension.
        steps: the files.
        verbose: whether commands are printed.

    Returns:
        Whether anything was compiled.

    Raises:
        RuntimeError: a file does not compile. The message has the words of the first compiler that failed.
    """
    stale = [step for step in steps if not step.is_current()]

    def compile_one(step: Step) -> None:
        step.record.unlink(missing_ok=True)
        run(name, step.command, verbose)
        step.write_record()

    with ThreadPoolExecutor(jobs()) as pool:
        futures = [pool.submit(compile_one, step) for step in stale]
        try:
            for future in futures:
                future.result()
        except RuntimeError:
            pool.shutdown(cancel_futures=True)
            raise
    return bool(stale)


def link(name: str, command: Sequence[str], target: Path, verbose: bool) -> None:
    """Links under another name first, so that nobody loads half a file.

    Args:
        name: the extension.
        command: the command without its output.
        target: the file.
        verbose: whether the command is printed.

    Raises:
        RuntimeError: it failed.
    """
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
        output = Path(file.name)
    try:
        run(name, [*command, "-o", str(output)], verbose)
        output.chmod(0o755)
        output.replace(target)
    finally:
        output.unlink(missing_ok=True)


class FolderLock:
    """One process builds in a folder at a time; the others wait.

    Args:
        folder: the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lock"

    def __enter__(self) -> None:
        import fcntl

        self.file = self.path.open("w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *error: object) -> None:
        self.file.close()


def require_compiler(name: str, compiler: str) -> None:
    """Raises RuntimeError if there is no such compiler.

    Args:
        name: the extension.
        compiler: the command.
    """
    if shutil.which(compiler) is None:
        raise RuntimeError(
            f"Error building extension '{name}': there is no compiler {compiler!r}; install GCC or Clang, or set CXX"
        )
