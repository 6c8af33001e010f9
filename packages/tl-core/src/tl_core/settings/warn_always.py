"""Whether a warning that an operator gives once a process comes each time. All warnings go through Python's filters,
which decide what is shown.

>>> set_warn_always(True)
>>> is_warn_always_enabled()
True
>>> set_warn_always(False)
"""

from __future__ import annotations

from tl_core import _C
from tl_core.settings import switches

switches.declare("warnings.always", False, bool)


def set_warn_always(b: bool, /) -> None:
    """Turns the switch on or off; raises TypeError for anything but a bool.

    Example:
        >>> import tl_core
        >>> tl_core.set_warn_always(True)
        >>> tl_core.is_warn_always_enabled()
        True
        >>> tl_core.set_warn_always(False)
    """
    switches.set("warnings.always", b)
    _C._set_warn_always(b)


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always` is on.

    Example:
        >>> import tl_core
        >>> tl_core.is_warn_always_enabled()
        False
    """
    return switches.get("warnings.always")
