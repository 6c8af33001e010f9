"""Models averaged often among few neighbours, and seldom among all.

Lin et al., Don't Use Large Mini-Batches, Use Local SGD, 2020, section on hierarchical local SGD.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from ...groups.process_group import ProcessGroup
from ...groups.process_groups import get_process_group_ranks, new_subgroups_by_enumeration
from . import averagers, utils

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(averagers.ModelAverager):
    """Averages over larger groups at longer periods; when several are due, over the largest.

    Args:
        period_group_size_dict: period -> how many processes a group has, both rising; the last is all of them.
        warmup_steps: how many steps come before the first average.
        process_group: all of them; the world for None.
    """

    def __init__(
        self,
        period_group_size_dict: Mapping[int, int] | None = None,
        warmup_steps: int = 0,
        process_group: ProcessGroup | None = None,
    ):
        super().__init__(process_group)
        sizes = OrderedDict(period_group_size_dict or {})
        _check(sizes, self.process_group.size(), warmup_steps)
        ranks = get_process_group_ranks(self.process_group)
        self.period_process_group_dict: OrderedDict[int, ProcessGroup | None] = OrderedDict()
        for period, size in sizes.items():
            if size == len(ranks):
                self.period_process_group_dict[period] = self.process_group
                continue
            parts = [ranks[i : i + size] for i in range(0, len(ranks), size)]
            self.period_process_group_dict[period], _ = new_subgroups_by_enumeration(parts)
        self._periods = list(self.period_process_group_dict)
        self.warmup_steps = warmup_steps

    def _find_process_group(self) -> ProcessGroup | None:
        """The largest group that is due."""
        due = [period for period in self._periods if self.step % period == 0]
        return self.period_process_group_dict[due[-1]] if due else None

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Averages over the largest group that is due, if one is.

        Args:
            params: parameters, or an optimizer's groups.
        """
        if self.step >= self.warmup_steps:
            group = self._find_process_group()
            if group is not None:
                utils.average_parameters_or_parameter_groups(params, group)
        self.step += 1


def _check(sizes: Mapping[int, int], world_size: int, warmup_steps: int) -> None:
    name = "HierarchicalModelAverager: "
    if not sizes:
        raise ValueError(name + "period_group_size_dict is empty")
    if any(period <= 0 for period in sizes):
        raise ValueError(f"{name}periods must be positive, got {list(sizes)}")
    if list(sizes) != sorted(sizes) or list(sizes.values()) != sorted(set(sizes.values())):
        raise ValueError(f"{name}periods and sizes must rise, got {dict(sizes)}")
    if next(iter(sizes.values())) <= 1:
        raise ValueError(f"{name}the first size must be greater than 1, got {next(iter(sizes.values()))}")
    if list(sizes.values())[-1] != world_size:
        raise ValueError(f"{name}the last size must be that of the group, {world_size}, got {dict(sizes)}")
    if any(world_size % size for size in sizes.values()):
        raise ValueError(f"{name}the group of {world_size} must divide by each size, got {dict(sizes)}")
    if warmup_steps < 0:
        raise ValueError(f"{name}warmup_steps must not be negative, got {warmup_steps}")
