"""Settings of sharded training: what is sharded, when pieces are gathered, in which types, what a state dict holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

import tl_core

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(Enum):
    """The sharded tensors: parameters, gradients and optimizer state; the last two; nothing; and hybrids by machine.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.ShardingStrategy.FULL_SHARD.name
        'FULL_SHARD'
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the backward pass gathers the next parameters: before or after the current gradients are computed.

    Example:
        >>> from tl_distributed import fsdp
        >>> [option.name for option in fsdp.BackwardPrefetch]
        ['BACKWARD_PRE', 'BACKWARD_POST']
    """

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """The contents of a state dict: whole tensors, this process's flat pieces, or distributed tensors.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.StateDictType.FULL_STATE_DICT.name
        'FULL_STATE_DICT'
    """

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """The names of parameters in an optimizer's state.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.OptimStateKeyType.PARAM_NAME.name
        'PARAM_NAME'
    """

    PARAM_NAME = auto()
    PARAM_ID = auto()


def _batch_norms() -> tuple[type, ...]:
    """The class that the batch norms of all dimensions are of."""
    from tl_nn import BatchNorm1d

    return BatchNorm1d.__bases__


@dataclass
class MixedPrecision:
    """The types of a sharded module's parameters, reductions and buffers.

    Args:
        param_dtype: in which the forward and backward pass compute.
        reduce_dtype: in which gradients are reduced; that of the parameters by default.
        buffer_dtype: of buffers.
        keep_low_precision_grads: whether gradients stay in the type in which they were reduced.
        cast_forward_inputs: whether the inputs of each wrapped module are converted.
        cast_root_forward_inputs: whether those of the outermost are.

    Example:
        >>> import tl_core
        >>> from tl_distributed import fsdp
        >>> fsdp.MixedPrecision(param_dtype=tl_core.bfloat16).param_dtype
        torch.bfloat16
    """

    param_dtype: tl_core.dtype | None = None
    reduce_dtype: tl_core.dtype | None = None
    buffer_dtype: tl_core.dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = field(default_factory=_batch_norms)


@dataclass
class CPUOffload:
    """The placement of idle parameters in the memory of the CPU, where all of tl's are.

    Args:
        offload_params: whether they do.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.CPUOffload().offload_params
        False
    """

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """Settings of state dicts.

    Args:
        offload_to_cpu: whether their tensors are moved to the CPU.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.StateDictConfig().offload_to_cpu
        False
    """

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Settings of state dicts of whole tensors.

    Args:
        rank0_only: whether the first process alone has them.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.FullStateDictConfig(rank0_only=True).rank0_only
        True
    """

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Settings of state dicts of flat pieces.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.LocalStateDictConfig().offload_to_cpu
        False
    """


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Settings of state dicts of distributed tensors.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.ShardedStateDictConfig().offload_to_cpu
        False
    """

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Settings of an optimizer's state dicts.

    Args:
        offload_to_cpu: whether their tensors are moved to the CPU.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.OptimStateDictConfig().offload_to_cpu
        True
    """

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dicts of whole tensors.

    Args:
        rank0_only: whether the first process alone has them.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.FullOptimStateDictConfig().rank0_only
        False
    """

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dicts of flat pieces.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.LocalOptimStateDictConfig().offload_to_cpu
        False
    """

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dicts of distributed tensors.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.ShardedOptimStateDictConfig().offload_to_cpu
        True
    """

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The choice of `state_dict_type`.

    Args:
        state_dict_type: what a state dict holds.
        state_dict_config: its settings.
        optim_state_dict_config: those of an optimizer's.

    Example:
        >>> from tl_distributed import fsdp
        >>> config, optim_config = fsdp.FullStateDictConfig(), fsdp.FullOptimStateDictConfig()
        >>> fsdp.StateDictSettings(fsdp.StateDictType.FULL_STATE_DICT, config, optim_config).state_dict_type.name
        'FULL_STATE_DICT'
    """

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The types in which a module that `fully_shard` has sharded computes.

    Args:
        param_dtype: of the gathered parameters.
        reduce_dtype: in which gradients are reduced.
        output_dtype: to which the outputs are converted.
        cast_forward_inputs: whether the inputs are converted to that of the parameters.

    Example:
        >>> import tl_core
        >>> from tl_distributed import fsdp
        >>> fsdp.MixedPrecisionPolicy(reduce_dtype=tl_core.float32).reduce_dtype
        torch.float32
    """

    param_dtype: tl_core.dtype | None = None
    reduce_dtype: tl_core.dtype | None = None
    output_dtype: tl_core.dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """No pieces wait elsewhere.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.OffloadPolicy()
        OffloadPolicy()
    """


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Pieces wait in the memory of the CPU.

    Args:
        pin_memory: whether it is pinned.

    Example:
        >>> from tl_distributed import fsdp
        >>> fsdp.CPUOffloadPolicy().pin_memory
        True
    """

    pin_memory: bool = True
