"""Third-party plug-ins, from the entry points of the installed distributions.

`tl.plugins` puts modules into the façade and `tl.names` single objects; the entry point's name is the dotted name
without `tl`, its value what stands there:

    [project.entry-points."tl.plugins"]
    "npu" = "my_npu"                                        # tl.npu is the module my_npu
    [project.entry-points."tl.names"]
    "nn.parallel.MyParallel" = "my_package:MyParallel"      # tl.nn.parallel.MyParallel

The packages of tl itself come first, so a plug-in can add names but not replace one.
"""

import warnings
from functools import cache


@cache
def modules() -> dict[str, str]:
    """Façade name → module, of all distributions."""
    return _scan("tl.plugins")


@cache
def objects() -> dict[str, str]:
    """Façade name → `module:object`, of all distributions."""
    return _scan("tl.names")


def _scan(group: str) -> dict[str, str]:
    from importlib.metadata import entry_points

    found: dict[str, str] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.value):
        first = found.setdefault(point.name, point.value)
        if first != point.value:
            text = f"two plug-ins define tl.{point.name}: {first} and {point.value}; the first is used"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
    return found
