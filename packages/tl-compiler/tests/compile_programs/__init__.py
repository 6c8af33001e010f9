"""Programs that call a function again and again while something changes: what they yield must not depend on whether the
function is compiled. Each gets a function that compiles, or gives back what it gets."""

from . import calls, derivatives, held_state, inputs, modules, process_settings, values
from .registry import PROGRAMS

__all__ = [
    "PROGRAMS",
    "calls",
    "derivatives",
    "held_state",
    "inputs",
    "modules",
    "process_settings",
    "values",
]
