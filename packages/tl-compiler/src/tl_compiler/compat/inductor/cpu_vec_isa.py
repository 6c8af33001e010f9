"""The vector instructions that the kernels run with, under the name of the reference's code generator."""

from __future__ import annotations

from typing import Any

import tl_core

__all__ = ["VecISA", "pick_vec_isa"]

_BITS = {"AVX2": 256, "AVX512": 512, "NEON": 128}


class VecISA:
    """A set of vector instructions; false where there is none.

    Args:
        name: as `backends.cpu.get_cpu_capability` has it.

    Example:
        >>> VecISA("AVX2").nelements(tl_core.float64), bool(VecISA("DEFAULT"))
        (4, False)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def bit_width(self) -> int:
        """The bits of a vector; 0 without vectors."""
        return _BITS.get(self.name, 0)

    def nelements(self, dtype: Any = tl_core.float32) -> int:
        """How many elements a vector has.

        Args:
            dtype: their type.
        """
        return self.bit_width() // (8 * int(dtype.itemsize))

    def __bool__(self) -> bool:
        return self.bit_width() > 0

    def __str__(self) -> str:
        return self.name.lower() if self else "INVALID_VEC_ISA"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VecISA) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def pick_vec_isa() -> VecISA:
    """The vector instructions of this process's kernels.

    Example:
        >>> pick_vec_isa() == VecISA(tl_core.cpu_capability())
        True
    """
    return VecISA(tl_core.cpu_capability())
