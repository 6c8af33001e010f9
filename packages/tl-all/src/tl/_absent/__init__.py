"""Names that PyTorch has and tl lacks, where programs import them.

A whole library fails when one of its imports fails, though most users never reach the name. So an import of such a
name returns a stand-in, which raises at its use. Only a statement in the body of a module, outside of `try`, receives a
stand-in, and only while no import that a `try` guards is under way. A program that tests for a name (`try`, `hasattr`,
`getattr` with a default, `find_spec`) gets the answer that the name is missing.

The first missing name in a program that `tl.torch` runs loads these modules.
"""

import os
import sys

from tl import _names
from tl._absent import frames, names, stand_in
from tl._absent.modules import load_absent as load_absent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any


def attribute(module: "ModuleType", dotted: str) -> "Any":
    """The stand-in for the statement that reads an absent attribute of a module; None if the statement must fail."""
    frame = frames.asking(sys._getframe(1))
    if frame is None or not dotted:
        return None
    if dotted.endswith(".__path__"):
        return _path(frame)
    operation, _ = frames.instruction(frame)
    if operation == frames.IMPORT_FROM:
        name = frames.imported_name(frame)
        if name is None or not names.has(name) or not frames.may_stand_in(frame):
            return None
        return stand_in.record_import(name, frame.f_code.co_filename, frame.f_lineno)
    if operation in frames.ATTRIBUTE:
        return _of_import(frame, dotted)
    return None


def _path(frame: "FrameType") -> "list[str] | None":
    """The path [] with which an import of an absent module reaches the finder, though its parent is no package."""
    return [] if frames.loads_below(frame) and names.is_module(frame.f_locals.get("name", "")) else None


def _of_import(frame: "FrameType", dotted: str) -> "Any":
    """The stand-in for `torch.x.y` in a module that contains `import torch.x.y`."""
    for name in stand_in.plain_imports.get(frame.f_code.co_filename, ()):
        same = _names.first_name_of(name.partition(".")[2]) == _names.first_name_of(dotted)
        if same and not frames.in_try(frame.f_code, frame.f_lasti):
            return stand_in.of(name)
    return None


def report() -> str:
    """The absent names that were imported so far with their lines, as `python -m tl.torch --absent` prints them."""
    lines = []
    for name in sorted(stand_in.imports):
        where = [f"{os.path.relpath(file)}:{line}" for file, line in stand_in.imports[name].items()]
        lines.append(f"{name}  {', '.join(where)}")
    return "\n".join(lines) or "no absent names were imported"
