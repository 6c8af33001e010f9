"""Files by name."""

from __future__ import annotations

import fnmatch
import importlib.util
import os
from collections.abc import Iterator

__all__ = ["get_file_pathnames_from_root", "match_masks"]

DILL_AVAILABLE = importlib.util.find_spec("dill") is not None


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name matches one of the shell-like masks; an empty mask matches everything."""
    listed = [masks] if isinstance(masks, str) else masks
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in listed)


def get_file_pathnames_from_root(
    root: str, masks: str | list[str], recursive: bool = False, abspath: bool = False
) -> Iterator[str]:
    """The files in a folder, or the file itself, in the order of their names.

    Raises FileNotFoundError if there is neither.

    Args:
        root: a folder or a file.
        masks: patterns of names, such as "*.csv"; "" for all.
        recursive: whether folders within are searched.
        abspath: whether paths are absolute.
    """
    root = os.path.abspath(root) if abspath else root
    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield root
        return
    with os.scandir(root) as entries:
        sorted_entries = sorted(entries, key=lambda entry: entry.name)
    for entry in sorted_entries:
        if entry.is_dir():
            if recursive:
                yield from get_file_pathnames_from_root(entry.path, masks, recursive)
        elif match_masks(entry.name, masks):
            yield entry.path
