"""Gradients averaged over everybody at first, and later only among the neighbours of a subgroup.

Lin et al., Don't Use Large Mini-Batches, Use Local SGD, 2020. A model averager brings the subgroups together from time
to time.
"""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_core.futures import Future

from ...base.grad_bucket import GradBucket
from ...groups.process_group import ProcessGroup
from ...groups.process_groups import new_subgroups
from . import default_hooks

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """The settings of `post_localSGD_hook`.

    Args:
        process_group: everybody; the world for None.
        subgroup: the neighbours; for None all that run on this machine.
        start_localSGD_iter: from which backward pass on the neighbours keep to themselves.
        post_local_gradient_allreduce: whether they then still average among themselves.
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ):
        self.process_group = process_group
        self.subgroup = subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["process_group"], state["subgroup"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, process_group=None, subgroup=None)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts a backward pass, when its last bucket comes."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Averages over everybody, or after `start_localSGD_iter` passes over the subgroup only.

    Args:
        state: the groups and when to change over.
        bucket: the gradients.
    """
    state.maybe_increase_iter(bucket)
    if state.iter < state.start_localSGD_iter:
        return default_hooks.allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        future: Future[Tensor] = Future()
        future.set_result(bucket.buffer())
        return future
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups(_neighbours())
    return default_hooks.allreduce_hook(state.subgroup, bucket)


def _neighbours() -> int:
    import os

    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
