"""Names that PyTorch has and tl lacks, where programs import them.

A library closes as a whole when one import in it fails, though most of its users never reach what it imported. So an
import of such a name gives a stand-in, which raises where it is used. Only a statement gets one that stands in the
body of a module, outside of `try`, while no import that a `try` guards is under way: whoever asks whether a name is
there (`try`, `hasattr`, `getattr` with a default, `find_spec`) is told that it isn't.

Everything here is loaded when the first name isn't found, in programs that `tl.torch` runs.
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
    """What the statement that asks for an absent attribute of a module is given; None where it has to fail."""
    frame = frames.asking(sys._getframe(1))
    if frame is None or not dotted:
        return None
    if dotted.endswith(".__path__"):
        return _path(frame)
    operation, _ = frames.instruction(frame)
    if operation == frames.IMPORT_FROM:
        written = frames.imported_name(frame)
        if written is None or not names.has(written) or not frames.may_stand_in(frame):
            return None
        return stand_in.imported(written, frame.f_code.co_filename, frame.f_lineno)
    if operation in frames.ATTRIBUTE:
        return _of_import(frame, dotted)
    return None


def _path(frame: "FrameType") -> "list[str] | None":
    """Lets an import of an absent module reach the finder though the module above it is no package."""
    return [] if frames.loads_below(frame) and names.is_module(frame.f_locals.get("name", "")) else None


def _of_import(frame: "FrameType", dotted: str) -> "Any":
    """After `import torch.x.y` the module that said so reaches y through `torch.x`."""
    for written in stand_in.plain_imports.get(frame.f_code.co_filename, ()):
        same = _names.first_name_of(written.partition(".")[2]) == _names.first_name_of(dotted)
        if same and not frames.in_try(frame.f_code, frame.f_lasti):
            return stand_in.of(written)
    return None


def report() -> str:
    """The absent names that were imported so far, and where: what `python -m tl.torch --absent` prints."""
    lines = []
    for name in sorted(stand_in.imports):
        where = [f"{os.path.relpath(file)}:{line}" for file, line in stand_in.imports[name].items()]
        lines.append(f"{name}  {', '.join(where)}")
    return "\n".join(lines) or "no absent names were imported"
