"""The version of tl-core that a built extension needs, among the requirements of its distribution."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from tl_core import version
from tl_core.extensions.headers import get_include

__all__ = ["add_requirement", "requirement"]

# The version of tl-core that brought each minor version of the C interface, from 0 on.
VERSIONS = ("0.1.0",)
_DISTRIBUTIONS = ("tl-core", "tl-all", "tl")


def _constant(name: str, header: str) -> int:
    text = (Path(get_include()) / "tl" / header).read_text()
    match = re.search(rf"^#define {name} (\d+)", text, re.MULTILINE)
    if match is None:
        raise ValueError(f"tl/{header} does not define {name}")
    return int(match[1])


def requirement(macros: list[tuple[str, str | None]], flags: list[str]) -> str:
    """Returns the requirement of an extension.

    The version is that which brought the newest entries that the extension uses. While the interface is a draft, all
    entries may be new, and the version is the installed one.

    Args:
        macros: the macros that the extension defines; `TL_API_TARGET` is the newest minor version it uses.
        flags: the flags of its compiler, which may define it too.

    Raises:
        ValueError: the target is newer than the headers.

    Example:
        >>> from tl_core.extensions.requirements import requirement
        >>> requirement([("TL_API_TARGET", "0")], []).partition(">=")[0]
        'tl-core'
    """
    newest = _constant("TL_API_MINOR", "c_api.h")
    stated = {name: value for name, value in macros if value is not None}
    for flag in flags:
        name, _, value = flag.removeprefix("-D").partition("=")
        if flag.startswith("-D") and value:
            stated[name] = value
    minor = int(stated.get("TL_API_TARGET", newest))
    if not 0 <= minor <= newest:
        raise ValueError(f"TL_API_TARGET is {minor}, the headers have the minor versions 0 to {newest}")
    return f"tl-core>={version.__version__ if _constant('TL_API_DRAFT', 'python.h') else VERSIONS[minor]}"


def add_requirement(distribution: Any, text: str) -> None:
    """Adds a requirement to a distribution that states none about tl.

    Args:
        distribution: setuptools' `Distribution`.
        text: the requirement.
    """
    present = list(distribution.install_requires or [])
    names = (
        re.split(r"[^A-Za-z0-9._-]", r.strip(), maxsplit=1)[0].lower().replace("_", "-") for r in present
    )
    if any(name in _DISTRIBUTIONS for name in names):
        return
    distribution.install_requires = [*present, text]
    finalize = getattr(distribution, "_finalize_requires", None)
    if finalize is not None:  # newer versions of setuptools keep them in the metadata too
        finalize()
    _write_again(distribution)


def _write_again(distribution: Any) -> None:
    """Writes metadata again that `egg_info` wrote before it asked for the extensions' files."""
    command = distribution.get_command_obj("egg_info", create=False)
    folder = getattr(command, "egg_info", None)
    if folder is None or not (Path(folder) / "PKG-INFO").exists():
        return
    egg_info: Any = importlib.import_module("setuptools.command.egg_info")
    egg_info.write_pkg_info(command, "PKG-INFO", str(Path(folder) / "PKG-INFO"))
    egg_info.write_requirements(command, "requires.txt", str(Path(folder) / "requires.txt"))
