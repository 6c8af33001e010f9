"""Datasets for the loader's cases, in a module, so that worker processes find them. They know neither tl nor torch."""

from __future__ import annotations

import importlib
from typing import Any


class Objects:
    """Dicts of Python numbers, texts and lists of floats."""

    def __init__(self, count: int) -> None:
        self.items = [{"label": i, "name": str(i), "box": [float(i), 1.0, 2.0, 3.0]} for i in range(count)]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.items[index]


class Blobs:
    """uint8 tensors of 100 KB, of which there are few; `module` makes them."""

    def __init__(self, module: str, count: int) -> None:
        self.module, self.count = module, count
        self._make()

    def _make(self) -> None:
        torch = importlib.import_module(self.module)
        self.blobs = [torch.full((100_000,), i, dtype=torch.uint8) for i in range(100)]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.blobs[index % len(self.blobs)], index

    def __getstate__(self) -> dict[str, Any]:
        return {"module": self.module, "count": self.count}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make()
