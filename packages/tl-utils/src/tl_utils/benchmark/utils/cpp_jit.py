"""Compiles statements in C++ against the library's headers."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import subprocess
import sysconfig
import tempfile
from functools import cache
from pathlib import Path

from tl_core.extensions.headers import get_include

__all__ = ["Program", "compile_callgrind_template", "compile_timeit_template"]

_SOURCE = """\
#include <tl/tl.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>

{global_setup}

namespace {{
char error[1024];

double measure(int64_t tl_number, void (*tl_mark)(void*), void* tl_argument) {{
  {setup}
  if (tl_mark) tl_mark(tl_argument);
  const auto tl_start = std::chrono::steady_clock::now();
  for (int64_t tl_i = 0; tl_i < tl_number; ++tl_i) {{
    {stmt}
    asm volatile("" ::: "memory");  // the loop stays, whatever the statement is
  }}
  const auto tl_end = std::chrono::steady_clock::now();
  if (tl_mark) tl_mark(tl_argument);
  return std::chrono::duration<double>(tl_end - tl_start).count();
}}
}}  // namespace

extern "C" int tl_prepare() {{ return tl::load(0) ? 0 : -1; }}

extern "C" const char* tl_error() {{ return error; }}

extern "C" double tl_measure(int64_t number, void (*mark)(void*), void* argument) {{
  try {{
    return measure(number, mark, argument);
  }} catch (const std::exception& e) {{
    std::strncpy(error, e.what(), sizeof error - 1);
  }} catch (...) {{
    std::strncpy(error, "an exception of unknown type", sizeof error - 1);
  }}
  return -1.0;
}}
"""


class Program:
    """A compiled statement.

    Args:
        path: the shared library.

    Example:
        >>> program = compile_timeit_template(stmt="x + 1;", setup="int x = 1;", global_setup="")  # doctest: +SKIP
        >>> type(program).__name__  # doctest: +SKIP
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        library = ctypes.PyDLL(str(path))
        library.tl_measure.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
        library.tl_measure.restype = ctypes.c_double
        library.tl_error.restype = ctypes.c_char_p
        library.tl_prepare()
        self._library = library

    def run(self, number: int, mark: int | None = None, argument: int | None = None) -> float:
        """Runs the statement. It calls `mark`, a C function, with `argument` just before and after.

        Raises:
            RuntimeError: the statement throws.
        """
        seconds = self._library.tl_measure(number, mark, argument)
        if seconds < 0:
            raise RuntimeError(
                f"Timer: the C++ statement threw: {self._library.tl_error().decode(errors='replace')}"
            )
        return float(seconds)

    def timeit(self, number: int) -> float:
        """The seconds that `number` runs take."""
        return self.run(number)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tl_benchmark_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _compiler() -> str:
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise RuntimeError(
            f"Timer: C++ statements need a compiler, but none of {', '.join(names)} is on the PATH"
        )
    return path


@cache
def _compile(stmt: str, setup: str, global_setup: str) -> Path:
    number = len(list(_folder().iterdir()))
    source, target = _folder() / f"statement_{number}.cpp", _folder() / f"statement_{number}.so"
    source.write_text(_SOURCE.format(stmt=stmt, setup=setup, global_setup=global_setup))
    include = [f"-I{get_include()}", f"-I{sysconfig.get_paths()['include']}"]
    command = [
        _compiler(),
        "-std=c++20",
        "-O2",
        "-g",
        "-fPIC",
        "-shared",
        *include,
        str(source),
        "-o",
        str(target),
    ]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(f"Timer: the C++ statement doesn't compile:\n{process.stderr}")
    return target


def compile_timeit_template(*, stmt: str, setup: str, global_setup: str) -> Program:
    """Compiles a statement to be timed.

    Args:
        stmt: the statement to measure.
        setup: the code that runs once before. The statement sees its variables.
        global_setup: the code at the top of the file.

    Raises:
        RuntimeError: there is no compiler, or it refuses the statement.

    Example:
        >>> program = compile_timeit_template(stmt="x + 1;", setup="int x = 1;", global_setup="")  # doctest: +SKIP
    """
    return Program(_compile(stmt, setup, global_setup))


def compile_callgrind_template(*, stmt: str, setup: str, global_setup: str) -> str:
    """Compiles a statement to be run under Callgrind.

    Args:
        stmt: the statement to measure.
        setup: the code that runs once before. The statement sees its variables.
        global_setup: the code at the top of the file.

    Returns:
        str, the path of the shared library.

    Raises:
        RuntimeError: there is no compiler, or it refuses the statement.

    Example:
        >>> path = compile_callgrind_template(stmt="x + 1;", setup="int x = 1;", global_setup="")  # doctest: +SKIP
    """
    return str(_compile(stmt, setup, global_setup))
