"""Whether a warning that is given once a process comes each time. Every warning of tl goes through Python's filters,
which decide how often it is shown, so that the switch is only remembered for those who ask.

>>> set_warn_always(True)
>>> is_warn_always_enabled()
True
>>> set_warn_always(False)
"""

from __future__ import annotations

from tl_core import switches

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


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always` is on.

    Example:
        >>> import tl_core
        >>> tl_core.is_warn_always_enabled()
        False
    """
    return switches.get("warnings.always")
