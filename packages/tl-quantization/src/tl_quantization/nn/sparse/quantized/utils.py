"""The blocks of zeros of linear layers."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["LinearBlockSparsePattern", "check_blocks"]


def _is_valid_linear_block_sparse_pattern(row_block_size: int, col_block_size: int) -> bool:
    return (row_block_size, col_block_size) in ((1, 4), (8, 1))


def check_blocks(row_block_size: Any, col_block_size: Any) -> None:
    """Raises unless blocks have a size that layers take.

    Args:
        row_block_size: the rows of a block.
        col_block_size: the columns of a block.

    Raises:
        AssertionError: the size isn't 1 by 4 or 8 by 1.
    """
    if not _is_valid_linear_block_sparse_pattern(row_block_size, col_block_size):
        raise AssertionError(
            "Invalid linear block sparse pattern: row_block_size and col_block_size must be 1 and 4 or 8 and 1, but "
            f"got {row_block_size} and {col_block_size}"
        )


class LinearBlockSparsePattern:
    """A context with a size of blocks. Threads take turns.

    Args:
        row_block_size: the rows of a block.
        col_block_size: the columns of a block.

    Example:
        >>> with LinearBlockSparsePattern(8, 1):
        ...     LinearBlockSparsePattern.block_size()
        (8, 1)
        >>> LinearBlockSparsePattern.block_size()
        (1, 4)
    """

    rlock = threading.RLock()
    row_block_size, col_block_size = 1, 4

    def __init__(self, row_block_size: int = 1, col_block_size: int = 4) -> None:
        check_blocks(row_block_size, col_block_size)
        self._size = row_block_size, col_block_size

    def __enter__(self) -> None:
        cls = LinearBlockSparsePattern
        cls.rlock.acquire()
        self._former = cls.block_size()
        cls.row_block_size, cls.col_block_size = self._size

    def __exit__(self, *exception: object) -> None:
        cls = LinearBlockSparsePattern
        cls.row_block_size, cls.col_block_size = self._former
        cls.rlock.release()

    @staticmethod
    def block_size() -> tuple[int, int]:
        """The rows and columns of a block."""
        return LinearBlockSparsePattern.row_block_size, LinearBlockSparsePattern.col_block_size
