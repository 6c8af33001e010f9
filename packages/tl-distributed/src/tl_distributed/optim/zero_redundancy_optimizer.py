"""An optimizer whose state is divided among the processes.

Rajbhandari, Rasley, Ruwase, He, ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020, stage 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tl_core
from tl_core import Tensor, enable_grad, no_grad
from tl_nn.optim import Optimizer

from ..algorithms.join import Join, Joinable, JoinHook
from ..base.work import Work
from ..collectives.object_collectives import gather_object
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import default_group
from .utils import functional_optim_map

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Each process steps with its share of the parameters, and tells the others what has become of them.

    So each keeps the state (such as Adam's moments) of its share only. Gradients must be the same on all, as after a
    backward pass of `DistributedDataParallel`.

    Args:
        params: the parameters, or groups of them.
        optimizer_class: the optimizer of each share.
        process_group: the processes; the world by default.
        parameters_as_bucket_view: kept for callers; parameters travel together either way.
        overlap_with_ddp: whether each share steps within the backward pass of a `DistributedDataParallel`, as soon as
            its gradients are there; for optimizers that have a form which is handed gradients. A hook of
            `ddp_zero_hook` must be registered; `step` does nothing then.
        defaults: the optimizer's other arguments.

    Example:
        >>> import tl_distributed as dist, tl_nn as nn
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> layer = nn.Linear(2, 1)
        >>> optimizer = ZeroRedundancyOptimizer(layer.parameters(), nn.optim.Adam, lr=0.1)
        >>> layer(tl_core.ones(1, 2)).sum().backward()
        >>> optimizer.step()
        >>> optimizer.consolidate_state_dict()
        >>> sorted(optimizer.state_dict()["state"])
        [0, 1]
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ):
        if overlap_with_ddp:
            optimizer_class = _functional(optimizer_class)
        self._overlaps = overlap_with_ddp
        self.process_group = default_group() if process_group is None else process_group
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._optim_constructor = optimizer_class
        self._optim_defaults = defaults
        self._ready = False
        self._all_state_dicts: list[dict[str, Any]] = []
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self._ready = True
        self.optim: Any = None
        self._shares: list[list[list[Tensor]]] = []
        if overlap_with_ddp and len(self.param_groups) > 1:
            raise RuntimeError(
                "ZeroRedundancyOptimizer: overlap_with_ddp=True only supports a single parameter group"
            )
        if not overlap_with_ddp:
            self._divide()

    def _divide(self) -> None:
        """Gives each parameter to a process, the largest first, each to the one that has least."""
        sizes = [0] * self.world_size
        self._shares = []
        for group in self.param_groups:
            shares: list[list[Tensor]] = [[] for _ in range(self.world_size)]
            for parameter in sorted(group["params"], key=lambda p: -p.numel()):
                rank = sizes.index(min(sizes))
                shares[rank].append(parameter)
                sizes[rank] += parameter.numel()
            self._shares.append(shares)
        own = [
            {**_options(group), "params": shares[self.rank]}
            for group, shares in zip(self.param_groups, self._shares, strict=True)
        ]
        has_any = any(group["params"] for group in own)
        self.optim = self._optim_constructor(own, **self._optim_defaults) if has_any else None
        if self.optim is not None:
            for group, mine in zip(self.param_groups, self.optim.param_groups, strict=True):
                group.update({name: value for name, value in _options(mine).items() if name not in group})

    def share_buckets(self, buckets: list[list[Tensor]], whole: bool) -> None:
        """Says which buckets of gradients there are, for a hook of `ddp_zero_hook`.

        Args:
            buckets: the parameters of each.
            whole: whether each bucket belongs to one process, rather than each parameter.

        Raises:
            RuntimeError: this optimizer was not made with `overlap_with_ddp=True`, or has other parameters.
        """
        if not self._overlaps:
            raise RuntimeError(
                "ZeroRedundancyOptimizer: a hook of ddp_zero_hook needs one constructed with overlap_with_ddp=True"
            )
        (group,) = self.param_groups
        if {id(p) for p in group["params"]} != {id(p) for bucket in buckets for p in bucket}:
            raise RuntimeError(
                "ZeroRedundancyOptimizer: the parameters are not those of the DistributedDataParallel"
            )
        units = (
            [tuple(bucket) for bucket in buckets] if whole else [(p,) for bucket in buckets for p in bucket]
        )
        sizes = [0] * self.world_size
        self._owner: dict[int, int] = {}
        shares: list[list[Tensor]] = [[] for _ in range(self.world_size)]
        for unit in sorted(units, key=lambda unit: -sum(p.numel() for p in unit)):
            rank = sizes.index(min(sizes))
            sizes[rank] += sum(p.numel() for p in unit)
            self._owner |= dict.fromkeys(map(id, unit), rank)
        for bucket in buckets:
            for parameter in bucket:
                shares[self._owner[id(parameter)]].append(parameter)
        self._shares = [shares]
        mine = shares[self.rank]
        self.optim = self._optim_constructor(mine, **self._optim_defaults) if mine else None

    def step_bucket(self, parameters: list[Tensor], gradients: list[Tensor]) -> list[Work]:
        """Steps with those of a bucket's parameters that are this process's, and tells all; the works are under way.

        Args:
            parameters: the bucket's.
            gradients: their averages.
        """
        with no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                if self._owner[id(parameter)] == self.rank:
                    self.optim.step_param(parameter, gradient)
            if self.world_size == 1:
                return []
            link = self.process_group.communicator(parameters[0].device.type)
            by_owner: dict[int, list[Tensor]] = {}
            for parameter in parameters:
                by_owner.setdefault(self._owner[id(parameter)], []).append(parameter.detach())
            return [link.broadcast_coalesced(by_owner[rank], rank) for rank in sorted(by_owner)]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Gives the optimizer more parameters; the state that is there is kept.

        Raises:
            RuntimeError: this optimizer steps within the backward pass, for one group alone.
        """
        if self._overlaps and self._ready:
            raise RuntimeError(
                "ZeroRedundancyOptimizer: overlap_with_ddp=True only supports a single parameter group"
            )
        super().add_param_group(param_group)
        if self._ready:
            before = {} if self.optim is None else dict(self.optim.state)
            self._divide()
            if self.optim is not None:
                mine = {p for group in self.optim.param_groups for p in group["params"]}
                self.optim.state.update({p: s for p, s in before.items() if p in mine})

    def step(self, closure: Callable[[], float] | None = None, **kwargs: Any) -> float | None:
        """Makes a step with this process's share, and tells the others.

        Args:
            closure: computes the loss again.
            kwargs: handed to the share's optimizer.
        """
        if self._overlaps:  # the hook has stepped
            return None
        Join.notify_join_context(self)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if self.optim is not None:
            for group, mine in zip(self.param_groups, self.optim.param_groups, strict=True):
                mine.update(_options(group))
            self.optim.step(**kwargs)
        self._tell()
        return loss

    def _tell(self) -> None:
        if self.world_size == 1:
            return
        works = []
        with no_grad():
            for rank in range(self.world_size):
                alike: dict[Any, list[Tensor]] = {}
                for shares in self._shares:
                    for parameter in shares[rank]:
                        alike.setdefault(parameter.dtype, []).append(parameter.detach())
                for several in alike.values():
                    link = self.process_group.communicator(several[0].device.type)
                    works.append(link.broadcast_coalesced(several, rank))
            for work in works:
                work.wait()

    def _check_shared(self) -> None:
        if self._overlaps and not self._shares:
            raise RuntimeError(
                "ZeroRedundancyOptimizer: with overlap_with_ddp=True a hook of ddp_zero_hook must be registered first"
            )

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collects the state of all shares on one process, where `state_dict` can then be called.

        Args:
            to: the process's rank in the group.
        """
        self._check_shared()
        states: list[Any] | None = [None] * self.world_size if self.rank == to else None
        local = {} if self.optim is None else self.optim.state_dict()
        gather_object(local, states, group=self.process_group, group_dst=to)
        self._all_state_dicts = states or []

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as one optimizer of all parameters would give it.

        Raises:
            RuntimeError: `consolidate_state_dict` has not collected it here.
        """
        self._check_shared()
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the "
                "global state."
            )
        state_dict = super().state_dict()
        state_dict["state"] = {}
        number = self._numbers()
        for rank, local in enumerate(self._all_state_dicts):
            own = [p for shares in self._shares for p in shares[rank]]
            for index, state in local.get("state", {}).items():
                state_dict["state"][number[own[index]]] = state
        state_dict["state"] = dict(sorted(state_dict["state"].items()))
        return state_dict

    def _numbers(self) -> dict[Tensor, int]:
        every = (p for group in self.param_groups for p in group["params"])
        return {parameter: i for i, parameter in enumerate(every)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over this process's share of a whole state.

        Args:
            state_dict: what `state_dict` gave, the same on all processes.
        """
        self._check_shared()
        for group, loaded in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group.update(_options(loaded))
        if self.optim is None:
            return
        number = self._numbers()
        own = [p for shares in self._shares for p in shares[self.rank]]
        local = self.optim.state_dict()
        local["state"] = {
            i: state_dict["state"][number[p]] for i, p in enumerate(own) if number[p] in state_dict["state"]
        }
        for mine, group in zip(local["param_groups"], self.param_groups, strict=True):
            mine.update(_options(group))
        self.optim.load_state_dict(local)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook of a process without inputs, which steps with the other processes in each iteration."""
        return _Steps(self)

    @property
    def join_device(self) -> tl_core.device:
        """The device of the parameters."""
        device: tl_core.device = self.param_groups[0]["params"][0].device
        return device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The processes."""
        return self.process_group


def _functional(optimizer_class: Any) -> Any:
    """The form of an optimizer that is handed gradients.

    Raises:
        ValueError: it has none.
    """
    if hasattr(optimizer_class, "step_param"):
        return optimizer_class
    if optimizer_class not in functional_optim_map:
        raise ValueError(
            f"Optimizer {optimizer_class} does not have a functional counterpart, which overlap_with_ddp=True needs"
        )
    return functional_optim_map[optimizer_class]


class _Steps(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer):
        self._optimizer = optimizer

    def main_hook(self) -> None:
        self._optimizer.step()


def _options(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}
