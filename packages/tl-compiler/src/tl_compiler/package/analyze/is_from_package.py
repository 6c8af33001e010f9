"""Whether something came from a package."""

from types import ModuleType
from typing import Any

from .._mangling import is_mangled

__all__ = ["is_from_package"]


def is_from_package(obj: Any) -> bool:
    """Whether a module, or the class of an object, came from a package.

    Args:
        obj: the module or object.

    Returns:
        True if so; of objects whose class stands in an external module False.

    Example:
        >>> is_from_package("text")
        False
    """
    if isinstance(obj, ModuleType):
        return is_mangled(obj.__name__)
    return is_mangled(type(obj).__module__)
