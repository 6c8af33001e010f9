"""The classes of regions of PyTorch in a program: gradients on or off, and names in a profile.

A program enters an object of such a class by `with`, so that the region is left after an error too.
"""

from __future__ import annotations

from typing import Any

__all__ = ["region_class"]

_GRADIENTS = """class {name}:
  mode : bool
  previous : bool
  def __init__(self: {path},
    mode: bool) -> NoneType:
    self.mode = mode
    self.previous = mode
    return None
  def __enter__(self: {path}) -> NoneType:
    self.previous = torch.is_grad_enabled()
    torch.set_grad_enabled(self.mode)
    return None
  def __exit__(self: {path},
    exc_type: Any,
    exc_value: Any,
    traceback: Any) -> NoneType:
    torch.set_grad_enabled(self.previous)
    return None
"""
_PROFILE = """class {name}:
  name : str
  args : Optional[str]
  handle : Tensor
  def __init__(self: {path},
    name: str,
    args: Optional[str]=None) -> NoneType:
    self.name = name
    self.args = args
    self.handle = torch.zeros([0])
    return None
  def __enter__(self: {path}) -> NoneType:
    self.handle = ops.profiler._record_function_enter(self.name, self.args)
    return None
  def __exit__(self: {path},
    exc_type: Any,
    exc_value: Any,
    traceback: Any) -> NoneType:
    ops.profiler._record_function_exit(self.handle)
    return None
"""
_CLASSES = {
    "set_grad_enabled": ("__torch__.torch.autograd.grad_mode.set_grad_enabled", _GRADIENTS),
    "record_function": ("__torch__.torch.autograd.profiler.record_function", _PROFILE),
}


def region_class(program: Any, kind: str) -> str:
    """Returns the dotted name of the class of a region, which the program declares now.

    Args:
        program: the `Program`.
        kind: "set_grad_enabled" or "record_function".
    """
    path, text = _CLASSES[kind]
    if program.archive.definition(path) is None:
        program.archive.add(path, text.format(name=kind, path=path))
    return path
