"""Source locations: the line of a program that errors name for recorded calls and for writes.

While a program runs, only addresses of interpreter instructions are kept, without references. An error that wants to
name a line looks for the code object that the address lies in. Code that is gone by then has no line.
"""

from __future__ import annotations

import gc
import linecache
import os
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["change", "where"]


def where(addresses: Iterable[int]) -> str:
    """The line of the innermost frame outside of tl's own packages, or of the innermost one; empty if none is known.

    Args:
        addresses: of instructions, innermost frame first.
    """
    frames = _locate([a for a in addresses if a])
    outside = [frame for frame in frames if not _is_own(frame[0].co_filename)]
    return _describe(*(outside or frames)[0]) if frames else ""


def change(tensor: Tensor, version: int) -> str:
    """The line of the first write to the tensor's memory after that version, if it is among the latest writes."""
    addresses = _C._write_after(tensor, version)
    return where(addresses) if addresses else ""


def _locate(addresses: list[int]) -> list[tuple[CodeType, int]]:
    """(code, line) of the addresses that can be found, in their order."""
    by_address: dict[int, tuple[CodeType, int]] = {}
    for code in _living_code():
        for address in addresses:
            line = _C._line_of(code, address)
            if line is not None:
                by_address[address] = (code, line)
        if len(by_address) == len(addresses):
            break
    return [by_address[a] for a in addresses if a in by_address]


def _living_code() -> Iterator[CodeType]:
    """Every code object of the running frames and of all functions, with those inside."""
    visited: set[CodeType] = set()
    waiting = list(_running_code())
    waiting += [o.__code__ for o in gc.get_objects() if type(o) is FunctionType]
    while waiting:
        code = waiting.pop(0) if len(waiting) < 64 else waiting.pop()
        if code in visited:
            continue
        visited.add(code)
        yield code
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]


def _running_code() -> Iterator[CodeType]:
    innermost = list(sys._current_frames().values())
    while innermost:  # a reference to this frame would be a cycle that keeps the callers' variables alive
        frame: Any = innermost.pop()
        while frame is not None:
            yield frame.f_code
            frame = frame.f_back


def _is_own(filename: str) -> bool:
    path = os.path.realpath(filename)
    roots = {
        os.path.realpath(folder)
        for name, module in list(sys.modules.items())
        if (name == "tl" or name.startswith("tl_")) and "." not in name
        for folder in getattr(module, "__path__", ())
    }
    return any(path.startswith(root + os.sep) for root in roots)


def _describe(code: CodeType, line: int) -> str:
    text = linecache.getline(code.co_filename, line).strip()
    frame = f"{code.co_filename}:{line}, in {code.co_qualname}"
    return f"{frame}: {text}" if text else frame
