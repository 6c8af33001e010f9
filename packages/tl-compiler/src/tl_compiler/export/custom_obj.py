"""Objects among the inputs of a program."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ScriptObjectMeta"]


@dataclass
class ScriptObjectMeta:
    """What is noted of an input that is an object of a registered class.

    Args:
        constant_name: its name among the constants.
        class_fqn: its class.
    """

    constant_name: str
    class_fqn: str
