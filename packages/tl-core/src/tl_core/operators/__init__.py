"""Operators by their full names: packets, operators that are functions of Python, rules of shapes.

The packets load the other modules of this room when a program first asks for one of their operators.
"""

from tl_core.base import operator_hooks

# First, as most look-ups find their operator here.
operator_hooks.python_operators[:0] = [
    f"{__name__}.{module}"
    for module in ("sizes", "checks", "profiler_ranges", "composites", "core", "sparse", "kernels")
]
operator_hooks.makers["overload beside rows"] = f"{__name__}.further_overloads:overload_of"
operator_hooks.makers["overloads beside rows"] = f"{__name__}.further_overloads:names_of"
operator_hooks.makers["second name"] = f"{__name__}.second_names:packet_of"
