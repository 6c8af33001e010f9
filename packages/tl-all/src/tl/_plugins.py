"""Third-party plug-ins, from the entry points of the installed distributions.

`tl.plugins` puts modules into the façade and `tl.names` single objects; the entry point's name is the dotted name
without `tl`, its value what stands there:

    [project.entry-points."tl.plugins"]
    "npu" = "my_npu"                                        # tl.npu is the module my_npu
    [project.entry-points."tl.names"]
    "nn.parallel.MyParallel" = "my_package:MyParallel"      # tl.nn.parallel.MyParallel

The packages of tl itself come first, so a plug-in can add names but not replace one.

The files are read here and not by `importlib.metadata`, because the finder asks while nothing may be imported, and
because importing that takes ten times as long as reading them.
"""

import os
import sys
import warnings

_found: dict[str, dict[str, str]] = {}


def modules() -> dict[str, str]:
    """Façade name → module, of all distributions."""
    return _group("tl.plugins")


def objects() -> dict[str, str]:
    """Façade name → `module:object`, of all distributions."""
    return _group("tl.names")


def forget() -> None:
    """Lets the distributions be looked at anew, after one has been installed."""
    _found.clear()


def _group(name: str) -> dict[str, str]:
    if not _found:
        _found.update({"tl.plugins": {}, "tl.names": {}} | _scan())
    return _found[name]


def _scan() -> dict[str, dict[str, str]]:
    groups: dict[str, dict[str, str]] = {}
    for group, name, value in sorted(entry for path in _files() for entry in _entries(path)):
        if group in ("tl.plugins", "tl.names"):
            first = groups.setdefault(group, {}).setdefault(name, value)
            if first != value:
                text = f"two plug-ins define tl.{name}: {first} and {value}; the first is used"
                warnings.warn(text, RuntimeWarning, stacklevel=2)
    return groups


def _files() -> list[str]:
    """The files of entry points, one a distribution: like its modules, the first on the path counts."""
    found: dict[str, str] = {}
    for folder in sys.path:
        for name in _listed(folder or os.curdir):
            if name.endswith((".dist-info", ".egg-info")):
                path = os.path.join(folder or os.curdir, name, "entry_points.txt")
                found.setdefault(name.partition("-")[0].lower(), path)
    return [path for path in found.values() if os.path.isfile(path)]


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        # the path may name what isn't there, or isn't a folder
        return []


def _entries(path: str) -> list[tuple[str, str, str]]:
    """The lines of a file, as (group, name, value)."""
    group, entries = "", []
    with open(path, encoding="utf-8") as file:
        for line in map(str.strip, file):
            if line.startswith("[") and line.endswith("]"):
                group = line[1:-1].strip()
            elif "=" in line and not line.startswith(("#", ";")):
                name, _, value = line.partition("=")
                entries.append((group, name.strip(), value.partition("[")[0].strip()))
    return entries
