"""Masked tensors as text: two dashes for elements that do not count."""

from __future__ import annotations

from typing import Any

__all__ = ["text"]


def text(t: Any) -> str:
    """`MaskedTensor(\\n  [  1.0000,       --]\\n)`."""
    dense = t.detach().to_dense()
    data, mask = dense.get_data(), dense.get_mask()
    if data.dim() == 0:
        return f"MaskedTensor({_number(data.item()) if mask.item() else '--'}, {bool(mask.item())})"
    return f"MaskedTensor(\n{_rows(data.tolist(), mask.tolist(), data.dim(), '  ')}\n)"


def _number(x: Any) -> str:
    return f"{x:8.4f}" if isinstance(x, float) else str(x)


def _rows(data: Any, mask: Any, ndim: int, indent: str) -> str:
    if ndim == 1:
        cells = [_number(x) if counts else "      --" for x, counts in zip(data, mask, strict=True)]
        return f"{indent}[{', '.join(cells)}]"
    inner = ",\n".join(_rows(d, m, ndim - 1, indent + "  ") for d, m in zip(data, mask, strict=True))
    return f"{indent}[\n{inner}\n{indent}]" if inner else f"{indent}[]"
