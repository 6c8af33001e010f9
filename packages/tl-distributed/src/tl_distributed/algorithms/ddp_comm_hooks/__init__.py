"""Communication hooks: other ways to reduce the gradients of data-parallel training."""

from __future__ import annotations

import enum
from functools import partial
from typing import Any

from . import (
    ddp_zero_hook,
    debugging_hooks,
    default_hooks,
    mixed_precision_hooks,
    optimizer_overlap_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    quantization_hooks,
)

__all__ = [
    "DDPCommHookType",
    "ddp_zero_hook",
    "debugging_hooks",
    "default_hooks",
    "mixed_precision_hooks",
    "optimizer_overlap_hooks",
    "post_localSGD_hook",
    "powerSGD_hook",
    "quantization_hooks",
    "register_ddp_comm_hook",
]


def _member(hook: Any) -> Any:
    return enum.member(partial(_register, hook=hook))


def _register(model: Any, state: Any, hook: Any) -> None:
    model.register_comm_hook(state, hook)


class DDPCommHookType(enum.Enum):
    """The hooks by name, for `register_ddp_comm_hook`."""

    ALLREDUCE = _member(default_hooks.allreduce_hook)
    FP16_COMPRESS = _member(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _member(default_hooks.bf16_compress_hook)
    QUANTIZE_PER_TENSOR = _member(quantization_hooks.quantization_pertensor_hook)
    QUANTIZE_PER_CHANNEL = _member(quantization_hooks.quantization_perchannel_hook)
    POWER_SGD = _member(powerSGD_hook.powerSGD_hook)
    BATCHED_POWER_SGD = _member(powerSGD_hook.batched_powerSGD_hook)
    NOOP = _member(debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Registers a hook by its name.

    Args:
        comm_hook_type: which one.
        model: the `DistributedDataParallel`.
        state: handed to the hook.
    """
    comm_hook_type.value(model=model, state=state)
