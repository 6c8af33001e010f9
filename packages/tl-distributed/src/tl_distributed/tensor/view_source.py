"""The tensor behind a view whose elements had to move: the view is a copy, and what is written to it goes back.

A view along a dimension that is cut has no memory of the tensor itself on each rank. The ranks gather the tensor and
take the view of the copy. Programs expect that both share their elements.
"""

from __future__ import annotations

from collections.abc import Callable

import tl_core
from tl_core import Tensor

from .dtensor_spec import DTensorSpec
from .placement_types import Partial, Placement
from .redistribute import redistribute_local_tensor

__all__ = ["ViewSource"]


class ViewSource:
    """The tensor of which a view was taken.

    Args:
        local: this process's part of it.
        spec: its layout.
        placements: the layout in which the view is taken; None if the view shares its memory.
        take: the view of such a part.
        parent: the source of the tensor, if it is such a view itself.
    """

    def __init__(
        self,
        local: Tensor,
        spec: DTensorSpec,
        placements: tuple[Placement, ...] | None,
        take: Callable[[Tensor], Tensor],
        parent: ViewSource | None,
    ):
        self._local, self._spec, self._placements, self._take = local, spec, placements, take
        self._parent = parent
        self._version = _version_of(local)

    def refresh(self, view: Tensor) -> None:
        """Takes the view again if the tensor has changed.

        Args:
            view: this process's part of the view.
        """
        if self._parent is not None:
            self._parent.refresh(self._local)
        if self._placements is not None and self._version != _version_of(self._local):
            self._version = _version_of(self._local)
            with tl_core.no_grad():
                view.copy_(self._take(self._redistribute(self._placements)))

    def write_back(self, view: Tensor) -> None:
        """Writes the elements of the view to the tensor.

        Args:
            view: this process's part of the view.

        Raises:
            NotImplementedError: the tensor is a sum of terms.
        """
        if self._placements is not None:
            if any(isinstance(placement, Partial) for placement in self._spec.placements):
                raise NotImplementedError(
                    f"a view of a DTensor that is {self._spec.placements} can't be written; make the tensor "
                    "Replicate() or a Shard with redistribute first"
                )
            with tl_core.no_grad():
                full = self._redistribute(self._placements)
                self._take(full).copy_(view)
                spec = self._spec.with_placements(self._placements)
                self._local.copy_(redistribute_local_tensor(full, spec, self._spec.placements))
            self._version = _version_of(self._local)
        if self._parent is not None:
            self._parent.write_back(self._local)

    def _redistribute(self, placements: tuple[Placement, ...]) -> Tensor:
        return redistribute_local_tensor(self._local, self._spec, placements).contiguous()


def _version_of(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version
