"""Files of token numbers for the training of language models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from ..dataset import Dataset

__all__ = ["TokenFile"]


class TokenFile(Dataset[tuple[Tensor, Tensor]]):
    """Windows of a file of token numbers, mapped into memory.

    A sample is (tokens, next tokens): int64 of shape (length,), the second shifted by one. Workers map the file
    themselves; all share its memory.

    Args:
        path (path): A raw file, or a `.npy` file of one dimension.
        length (int): Number of tokens of a sample.
        dtype (str): The numbers of a raw file: "uint16", "uint32", …
        stride (int, optional): Distance in tokens between the begins of samples; by default `length`, without
            overlap.

    Raises ModuleNotFoundError without numpy, ValueError for a file that is shorter than one sample.

    Example:
        >>> import array, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(array.array("H", range(9)).tobytes())
        ...     file.flush()
        ...     windows = TokenFile(file.name, length=4)
        ...     len(windows), windows[0]
        ...
        (2, (tensor([0, 1, 2, 3]), tensor([1, 2, 3, 4])))
    """

    def __init__(
        self, path: str | os.PathLike[str], length: int, dtype: str = "uint16", stride: int | None = None
    ) -> None:
        if length < 1 or (stride is not None and stride < 1):
            raise ValueError(f"length and stride must be positive, got {length} and {stride}")
        self.path, self.length, self.dtype = os.fspath(path), length, dtype
        self.stride = length if stride is None else stride
        self._map()

    def _map(self) -> None:
        try:
            import numpy
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "token files need numpy: pip install 'tl-data[numpy]'", name="numpy"
            ) from error
        if self.path.endswith(".npy"):
            self.tokens = numpy.load(self.path, mmap_mode="r", allow_pickle=False)
        else:
            self.tokens = numpy.memmap(self.path, dtype=self.dtype, mode="r")
        if self.tokens.ndim != 1 or len(self.tokens) <= self.length:
            raise ValueError(
                f"{self.path!r} has shape {self.tokens.shape}; a sample needs {self.length + 1} tokens in a row"
            )
        self._within = numpy.arange(self.length + 1)

    def _windows(self, indices: Any) -> Tensor:
        import numpy

        at = numpy.asarray(indices, dtype=numpy.int64)
        if ((at < -len(self)) | (at >= len(self))).any():
            raise IndexError(f"samples {at.tolist()} of a file with {len(self)}")
        starts = (at % len(self)) * self.stride
        return tl_core.from_numpy(self.tokens[starts[..., None] + self._within].astype(numpy.int64))

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        window = self._windows(index)
        return window[:-1], window[1:]

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
        return [(window[:-1], window[1:]) for window in self._windows(indices).unbind(0)]

    def __getbatch__(self, indices: Any) -> list[Tensor]:
        windows = self._windows(indices.numpy() if isinstance(indices, Tensor) else indices)
        return [windows[:, :-1].contiguous(), windows[:, 1:].contiguous()]

    def __len__(self) -> int:
        return (len(self.tokens) - self.length - 1) // self.stride + 1

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "length": self.length, "dtype": self.dtype, "stride": self.stride}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._map()
