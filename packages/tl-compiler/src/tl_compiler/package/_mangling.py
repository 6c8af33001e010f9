"""Names of modules that came from packages: a prefix tells them from those of the interpreter."""

from __future__ import annotations

import itertools
import re

__all__ = ["PackageMangler", "check_not_mangled", "demangle", "get_mangle_prefix", "is_mangled"]

_indices = itertools.count()


class PackageMangler:
    """Gives names a prefix of its own, such as `<torch_package_0>`."""

    def __init__(self) -> None:
        self._mangle_index = next(_indices)
        self._mangle_parent = f"<torch_package_{self._mangle_index}>"

    def mangle(self, name: str) -> str:
        """A name with the prefix.

        Args:
            name: the name.

        Returns:
            The longer name.
        """
        if not name:
            raise AssertionError("mangle: the name is empty")
        return f"{self._mangle_parent}.{name}"

    def demangle(self, mangled: str) -> str:
        """A name without this prefix; one with another prefix stays as it is.

        Args:
            mangled: the name.

        Returns:
            The shorter name.
        """
        if mangled.startswith(f"{self._mangle_parent}."):
            return mangled.partition(".")[2]
        return mangled

    def parent_name(self) -> str:
        """The prefix.

        Returns:
            It.
        """
        return self._mangle_parent


def is_mangled(name: str) -> bool:
    """Whether a name has a prefix.

    Args:
        name: the name.

    Returns:
        True if it has.
    """
    return bool(re.match(r"<torch_package_\d+>", name))


def demangle(name: str) -> str:
    """A name without its prefix, whatever that is.

    Args:
        name: the name.

    Returns:
        The shorter name; nothing for a prefix alone.

    Example:
        >>> demangle("<torch_package_7>.foo.bar")
        'foo.bar'
    """
    return name.partition(".")[2] if is_mangled(name) else name


def get_mangle_prefix(name: str) -> str:
    """The prefix of a name; the name itself if it has none.

    Args:
        name: the name.

    Returns:
        The prefix.
    """
    return name.partition(".")[0] if is_mangled(name) else name


def check_not_mangled(name: str) -> None:
    """Raises if a name has a prefix.

    Args:
        name: the name.

    Raises:
        AssertionError: it has.
    """
    if is_mangled(name):
        raise AssertionError(f"{name} is the name of a module from a package")
