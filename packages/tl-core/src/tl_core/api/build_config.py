"""How this tl was built and what it computes with.

>>> "threads" in parallel_info()
True
"""

from __future__ import annotations

import os

from tl_core import _C
from tl_core.functions import lapack
from tl_core.settings import machine
from tl_core.version import __version__

__all__ = ["compiled_with_cxx11_abi", "parallel_info", "show"]


def show() -> str:
    """The build and the libraries, a line each: for bug reports, not for programs to read.

    Returns:
        str

    Example:
        >>> import tl_core.api.build_config
        >>> tl_core.api.build_config.show().splitlines()[0]
        'tl built with:'
    """
    build = _C._build_info()
    lines = [
        f"tl_core {__version__}",
        f"{build['compiler']}, C++ {build['cxx']}, {'assertions' if build['assertions'] else 'no assertions'}",
        f"Python's interface of {build['python']}",
        f"CPU capability in use: {machine.cpu_capability()}",
        f"LAPACK: {lapack.library() or 'not loaded; the first function that needs it looks for it'}",
        "matrix products, convolutions, threads and random numbers: tl's own; no MKL, oneDNN, OpenMP or CUDA",
    ]
    return "tl built with:\n" + "".join(f"  - {line}\n" for line in lines)


def parallel_info() -> str:
    """How operators are split among threads, a line each.

    Returns:
        str

    Example:
        >>> import tl_core.api.build_config
        >>> print(tl_core.api.build_config.parallel_info().splitlines()[0])
        tl parallelism:
    """
    lines = [
        f"threads of an operator: {_C.get_num_threads()} (a pool of tl's own)",
        f"operators at a time: 1 (get_num_interop_threads() is {machine.get_num_interop_threads()})",
        f"processors: {os.cpu_count()}, of which this process may use {len(os.sched_getaffinity(0))}",
    ]
    lines += [
        f"{name}: {os.environ.get(name, '[not set]')}" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    ]
    return "tl parallelism:\n" + "".join(f"  - {line}\n" for line in lines)


def compiled_with_cxx11_abi() -> bool:
    """Whether tl's libraries use the C++ ABI of 2011 for strings and lists; plug-ins need not, as they speak C with it.

    Returns:
        bool

    Example:
        >>> compiled_with_cxx11_abi()
        True
    """
    return _C._build_info()["cxx11_abi"]
