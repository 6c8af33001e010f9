"""Profiling: the interface of PyTorch's former profiler."""

from __future__ import annotations

import warnings

from tl_autograd import profiler as _profiler
from tl_autograd.profiler_kinds import ActiveProfilerType

__all__ = ["profile"]


class profile(_profiler.profile):
    """`tl_autograd.profiler.profile` with fewer settings. New programs use that class.

    Args:
        enabled: whether events are recorded.
        use_cuda: must be False.
        record_shapes: whether shapes of arguments are recorded.
        with_flops: whether operations are estimated.
        profile_memory: whether allocations are recorded.
        with_stack: whether Python lines are recorded.
        with_modules: whether calls of modules are recorded.
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False,
                 with_modules: bool = False) -> None:  # fmt: skip
        if use_cuda:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        super().__init__(enabled, record_shapes=record_shapes, with_flops=with_flops, profile_memory=profile_memory,
                         with_stack=with_stack, with_modules=with_modules)  # fmt: skip
        if enabled:
            self.profiler_kind = ActiveProfilerType.LEGACY
