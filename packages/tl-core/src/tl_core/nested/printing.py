"""Nested tensors as text."""

from __future__ import annotations

from typing import Any

__all__ = ["jagged_text", "strided_text"]


def _sizes(shape: Any) -> str:
    return f"({', '.join(map(str, shape))})"


def _autograd_text(t: Any, name: str = "grad_fn") -> str:
    if t.grad_fn is not None:
        return f", {name}={t.grad_fn}" if name == "grad_fn" else f", grad_fn=<{type(t.grad_fn).__name__}>"
    return ", requires_grad=True" if t.requires_grad else ""


def jagged_text(t: Any) -> str:
    """`NestedTensor(size=(2, j1, 3), offsets=tensor([0, 2, 6]), contiguous=True)`."""
    contiguous = f", contiguous={t.is_contiguous()}"
    return f"NestedTensor(size={_sizes(t.shape)}, offsets={t._offsets}{_autograd_text(t)}{contiguous})"


def strided_text(t: Any) -> str:
    """The components, one below the other."""

    def indent(component: Any) -> str:
        return "\n".join("  " + line for line in repr(component).split("\n"))

    requires_grad = t.requires_grad
    components = [c.detach().requires_grad_(requires_grad) for c in t.unbind()]
    body = ",\n".join(indent(c) for c in components)
    return f"nested_tensor([\n{body}\n]{_autograd_text(t, 'short')})"
