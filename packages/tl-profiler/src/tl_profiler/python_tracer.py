"""The prefixes of paths that readers of traces drop from names of Python functions."""

from __future__ import annotations

import os
import site
import sys

__all__ = ["_prefix_regex"]


def _prefix_regex() -> list[str]:
    """Folders that modules are found in, the longest first."""
    paths = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
    folders = {os.path.abspath(p) + os.sep for p in paths if p}
    return sorted(folders, reverse=True)
