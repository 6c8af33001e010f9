"""Where the headers are that extensions are compiled with."""

from __future__ import annotations

from tl_core import _C


def get_include() -> str:
    """The folder to pass to a compiler with ``-I`` to build an extension on ``tl/c_api.h`` or ``tl/tl.hpp``.

    Raises FileNotFoundError if tl-core was installed without its headers.

    >>> get_include().endswith("include")
    True
    """
    from pathlib import Path  # not for every program that imports tl

    package = Path(__file__).resolve().parents[1]
    # Installed; installed editable, where the native half lies apart; the source tree itself.
    for folder in (package, Path(str(_C.__file__)).resolve().parent, package.parents[1]):
        if (folder / "include" / "tl" / "c_api.h").exists():
            return str(folder / "include")
    raise FileNotFoundError(f"tl-core's headers are not installed in {package}")


def __getattr__(name: str) -> str:
    """`cmake_prefix_path`, the folder that CMake needs for `find_package(Torch)`."""
    if name != "cmake_prefix_path":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pathlib import Path  # not for every program that imports tl

    return str(Path(get_include()).parent / "share" / "cmake")
