"""`tl env`, `python -m tl.utils.collect_env`: the environment, for a report of a bug."""

from __future__ import annotations

import argparse
import locale
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from typing import Any, NamedTuple

import tl_core
from tl_core.api import build_config
from tl_core.settings import machine

__all__ = [
    "SystemEnv",
    "command",
    "get_env_info",
    "get_parser",
    "get_pretty_env_info",
    "main",
    "pretty_str",
    "run",
]

API_VERSION = "2.7"
_SECONDS = 20
_UNKNOWN = "Could not collect"
_RELEVANT = ("tl-", "numpy", "scipy", "torch", "triton", "onnx", "mypy", "optree", "tensorboard", "nvidia", "mkl",
             "openblas", "safetensors", "transformers")  # fmt: skip

Run = Callable[[Any], tuple[int, str, str]]


class SystemEnv(NamedTuple):
    """The environment as the report shows it.

    Args:
        tl_version: the version of tl.
        is_debug_build: whether asserts are compiled in.
        build: compiler and options of the native code.
        parallel: how work is divided among threads.
        gcc_version, clang_version, cmake_version: the versions of the tools. None means not installed.
        os: the operating system.
        libc_version: the version of the C library.
        python_version: the version of Python.
        python_platform: the platform as Python names it.
        is_cuda_available: whether there is a CUDA device.
        cpu_capability: the instruction sets that kernels use.
        num_threads: how many threads they use.
        pip_packages, conda_packages: the packages that matter, one a line.
        environment: variables that change how tl works.
        cpu_info: the processor.

    Example:
        >>> isinstance(get_env_info(), SystemEnv)
        True
    """

    tl_version: str
    is_debug_build: str
    build: str
    parallel: str
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cpu_capability: str
    num_threads: str
    pip_packages: str
    conda_packages: str | None
    environment: str
    cpu_info: str | None


def run(command: str | list[str]) -> tuple[int, str, str]:
    """Runs a command.

    Args:
        command: a line for the shell, or a list of words.

    Returns:
        (int, str, str), its exit status, its output and its errors. 127 means not found, 124 a timeout.

    Example:
        >>> run(["no-such-command"])[0]
        127
    """
    try:
        process = subprocess.run(command, shell=isinstance(command, str), capture_output=True, timeout=_SECONDS,
                              stdin=subprocess.DEVNULL)  # fmt: skip
    except FileNotFoundError as error:
        return 127, "", str(error)
    except subprocess.TimeoutExpired as error:
        return 124, "", str(error)
    encoding = locale.getpreferredencoding(False)
    out, err = (text.decode(encoding, errors="replace").strip() for text in (process.stdout, process.stderr))
    return process.returncode, out, err


def run_and_read_all(run_lambda: Run, command: Any) -> str | None:
    """The output of a command, or None if it fails."""
    status, out, _ = run_lambda(command)
    return out if status == 0 else None


def run_and_parse_first_match(run_lambda: Run, command: Any, regex: str) -> str | None:
    """The first group of a regular expression in the output of a command, or None."""
    match = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return match[1] if match else None


def run_and_return_first_line(run_lambda: Run, command: Any) -> str | None:
    """The first line of the output of a command, or None if it fails."""
    out = run_and_read_all(run_lambda, command)
    return out.split("\n")[0] if out else None


def get_gcc_version(run_lambda: Run) -> str | None:
    """The version of gcc."""
    return run_and_parse_first_match(run_lambda, ["gcc", "--version"], r"gcc (.*)")


def get_clang_version(run_lambda: Run) -> str | None:
    """The version of clang."""
    return run_and_parse_first_match(run_lambda, ["clang", "--version"], r"clang version (.*)")


def get_cmake_version(run_lambda: Run) -> str | None:
    """The version of CMake."""
    return run_and_parse_first_match(run_lambda, ["cmake", "--version"], r"cmake (.*)")


def get_cpu_info(run_lambda: Run) -> str | None:
    """The description of the processor."""
    return run_and_read_all(run_lambda, ["lscpu"]) or platform.processor() or None


def get_os(run_lambda: Run) -> str:
    """The operating system."""
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        name = ""
    return f"{name or platform.platform()} ({platform.machine()})"


def get_libc_version() -> str:
    """The C library and its version."""
    return "-".join(platform.libc_ver()) or "N/A"


def get_pip_packages(run_lambda: Run, patterns: Iterable[str] | None = None) -> tuple[str, str]:
    """The relevant installed distributions: the name of their tool, and a line each.

    Args:
        run_lambda: not needed: they are known to this process.
        patterns: parts of their names, by default of the relevant ones.
    """
    parts = tuple(_RELEVANT if patterns is None else patterns)
    lines = {
        f"{name}=={dist.version}"
        for dist in metadata.distributions()
        if (name := dist.metadata["Name"]) and any(part in name.lower() for part in parts)
    }
    return "pip3", "\n".join(sorted(lines))


def get_conda_packages(run_lambda: Run, patterns: Iterable[str] | None = None) -> str | None:
    """The relevant packages of conda, or None without conda."""
    conda = os.environ.get("CONDA_EXE", "conda")
    if not shutil.which(conda):
        return None
    out = run_and_read_all(run_lambda, [conda, "list"])
    parts = tuple(_RELEVANT if patterns is None else patterns)
    lines = [
        line
        for line in (out or "").splitlines()
        if not line.startswith("#") and any(p in line for p in parts)
    ]
    return "\n".join(lines)


def _environment() -> str:
    names = (
        "TL_",
        "TORCH_",
        "PYTORCH_",
        "OMP_",
        "MKL_",
        "OPENBLAS_",
        "KMP_",
        "GOMP_",
        "LD_PRELOAD",
        "PYTHONMALLOC",
    )
    return "\n".join(f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith(names))


def _tl_version() -> str:
    own = "\n".join(line for line in get_pip_packages(run, ("tl-core",))[1].splitlines())
    return own.removeprefix("tl-core==") or "unknown"


def get_env_info() -> SystemEnv:
    """Finds out all that a report says.

    Example:
        >>> get_env_info().is_cuda_available
        'False'
    """
    version = sys.version.replace("\n", " ")
    return SystemEnv(
        tl_version=_tl_version(),
        is_debug_build=str("debug" in build_config.show().lower()),
        build=build_config.show().strip(),
        parallel=build_config.parallel_info().strip(),
        gcc_version=get_gcc_version(run),
        clang_version=get_clang_version(run),
        cmake_version=get_cmake_version(run),
        os=get_os(run),
        libc_version=get_libc_version(),
        python_version=f"{version} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available="False",
        cpu_capability=machine.cpu_capability(),
        num_threads=str(tl_core.get_num_threads()),
        pip_packages=get_pip_packages(run)[1],
        conda_packages=get_conda_packages(run),
        environment=_environment(),
        cpu_info=get_cpu_info(run),
    )


_REPORT = """\
tl version: {tl_version}
PyTorch version: none; tl answers to the API of {api_version}
Is debug build: {is_debug_build}
CUDA used to build: none

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CPU capability used: {cpu_capability}
Threads: {num_threads}

Build:
{build}

Parallelism:
{parallel}

CPU:
{cpu_info}

Environment variables:
{environment}

Versions of relevant libraries:
{pip_packages}
{conda_packages}"""


def _prefix_lines(text: str | None, prefix: str) -> str:
    return "\n".join(f"{prefix} {line}" for line in (text or _UNKNOWN).splitlines())


def pretty_str(envinfo: SystemEnv) -> str:
    """A report as people paste it.

    Example:
        >>> "Python version" in pretty_str(get_env_info())
        True
    """
    values = {k: v if v else _UNKNOWN for k, v in envinfo._asdict().items()}
    values["environment"] = envinfo.environment or "none of those that matter"
    values["pip_packages"] = _prefix_lines(envinfo.pip_packages, "[pip3]")
    values["conda_packages"] = _prefix_lines(envinfo.conda_packages, "[conda]")
    return _REPORT.format(api_version=API_VERSION, **values)


def get_pretty_env_info() -> str:
    """The report of this environment.

    Example:
        >>> "Python version:" in get_pretty_env_info()
        True
    """
    return pretty_str(get_env_info())


def get_parser(program: str) -> argparse.ArgumentParser:
    """The parser of the command under the name of a program."""
    about = "Prints the versions, the processor and the settings of this environment, for reports of bugs."
    return argparse.ArgumentParser(program, description=about)


def command(arguments: Sequence[str], program: str) -> int:
    """The command under the name of a program. Returns the exit status.

    Args:
        arguments: the words after the name.
        program: the name, for messages.

    Example:
        >>> command([], "tl env")  # doctest: +SKIP
    """
    get_parser(program).parse_args(arguments)
    main()
    return 0


def main() -> None:
    """Prints the report.

    Example:
        >>> main()  # doctest: +SKIP
    """
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
