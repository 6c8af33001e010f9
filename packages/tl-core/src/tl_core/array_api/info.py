"""What a program may ask about tl before it computes."""

from __future__ import annotations

from typing import Any

from tl_core import _C

from .promotion import KINDS, isdtype

__all__ = ["NamespaceInfo"]


class NamespaceInfo:
    """The answers of `__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        """What not every library of the standard can.

        Example:
            >>> NamespaceInfo().capabilities()["boolean indexing"]
            True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Where arrays go if nobody says where.

        Example:
            >>> NamespaceInfo().default_device()
            device(type='cpu')
        """
        return _C._get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The types of numbers that nobody said the type of.

        Example:
            >>> NamespaceInfo().default_dtypes()["integral"]
            torch.int64
        """
        floating = _C.get_default_dtype()
        return {
            "real floating": floating,
            "complex floating": floating.to_complex(),
            "integral": _C.int64,
            "indexing": _C.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The types by name: all, or those of a kind.

        Example:
            >>> NamespaceInfo().dtypes(kind="complex floating")
            {'complex64': torch.complex64, 'complex128': torch.complex128}
        """
        everything = KINDS["bool"] | KINDS["numeric"]
        return {name: dtype for name, dtype in everything.items() if kind is None or isdtype(dtype, kind)}

    def devices(self) -> list[Any]:
        """Where arrays can lie.

        Example:
            >>> NamespaceInfo().devices()
            [device(type='cpu'), device(type='meta')]
        """
        return [_C.device("cpu"), _C.device("meta")]
