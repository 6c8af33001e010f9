"""Operators by their full names: packets, operators that are functions of Python, rules of shapes.

The packets load the other modules of this room when a program first asks for one of their operators.
"""

from functools import partial
from importlib import import_module

from tl_core.base import backend_registry, operator_hooks

for _name, _module in {
    "graph operators": "sizes",
    "composite operators": "composites",
    "core operators": "core",
    "sparse operators": "sparse",
    "kernel operators": "kernels",
}.items():
    backend_registry.register(_name, partial(import_module, f"{__name__}.{_module}"))
operator_hooks.makers["overload beside rows"] = f"{__name__}.further_overloads:overload_of"
operator_hooks.makers["overloads beside rows"] = f"{__name__}.further_overloads:names_of"
operator_hooks.makers["second name"] = f"{__name__}.second_names:packet_of"
