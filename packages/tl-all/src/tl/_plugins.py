"""Third-party plug-ins, from the entry points of the installed distributions.

`tl.plugins` puts modules into the façade and `tl.names` single objects. The entry point's name is the dotted name
without `tl`, its value is the module or object:

    [project.entry-points."tl.plugins"]
    "npu" = "my_npu"                                        # tl.npu is the module my_npu
    [project.entry-points."tl.names"]
    "nn.parallel.MyParallel" = "my_package:MyParallel"      # tl.nn.parallel.MyParallel

The packages of tl itself come first, so a plug-in can add names but not replace one.

This module reads the files without `importlib.metadata`, because the finder must not import, and because that import
takes ten times as long as reading them.
"""

import os
import sys
import warnings

_groups: dict[str, dict[str, str]] = {}


def modules() -> dict[str, str]:
    """Façade name → module, of all distributions."""
    return _group("tl.plugins")


def objects() -> dict[str, str]:
    """Façade name → `module:object`, of all distributions."""
    return _group("tl.names")


def forget() -> None:
    """Clears the entry points, so that the next access finds new distributions."""
    _groups.clear()


def _group(name: str) -> dict[str, str]:
    if not _groups:
        _groups.update({"tl.plugins": {}, "tl.names": {}} | _scan())
    return _groups[name]


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
    """The files of entry points, one a distribution. The first one on the path counts, as for modules."""
    paths: dict[str, str] = {}
    for folder in sys.path:
        for name in _list_folder(folder or os.curdir):
            if name.endswith((".dist-info", ".egg-info")):
                path = os.path.join(folder or os.curdir, name, "entry_points.txt")
                paths.setdefault(name.partition("-")[0].lower(), path)
    return [path for path in paths.values() if os.path.isfile(path)]


def _list_folder(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        # an entry of the path may be missing, or no folder
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
