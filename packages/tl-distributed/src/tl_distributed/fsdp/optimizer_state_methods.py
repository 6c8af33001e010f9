"""The methods of a wrapper for the state dicts of optimizers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from tl_nn import Module

from ..groups.process_groups import resolve
from .api import FullOptimStateDictConfig, OptimStateKeyType, StateDictType
from .full_parameters import wrappers_of
from .optimizer_state import named_state, numbered_state, rename_parameters
from .wrapped_state_dict import check_mesh, settings_of

__all__ = ["OptimizerStateMethods"]


class OptimizerStateMethods:
    """Functions from the state of an optimizer's pieces to that of parameters, and back."""

    @staticmethod
    def optim_state_dict(
        model: Module,
        optim: Any,
        optim_state_dict: dict[str, Any] | None = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """The state of an optimizer under the names of parameters, with the contents that `state_dict_type` sets.

        Args:
            model: the model.
            optim: the optimizer.
            optim_state_dict: its state dict; by default that which it returns.
            group: accepted; the wrappers have the ranks.

        Raises:
            RuntimeError: the optimizer has a parameter that isn't the model's, or the contents are flat pieces where a
                program has named a mesh.
        """
        for _, state in wrappers_of(model):
            check_mesh(state)
        settings = settings_of(model)
        config = settings.optim_state_dict_config
        return named_state(
            model,
            optim,
            optim.state_dict() if optim_state_dict is None else optim_state_dict,
            is_cut=settings.state_dict_type is not StateDictType.FULL_STATE_DICT,
            is_rank0_only=isinstance(config, FullOptimStateDictConfig) and config.rank0_only,
        )

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """The state dict that the optimizer can load, from a state of `optim_state_dict`.

        Args:
            model: the model.
            optim: the optimizer.
            optim_state_dict: the state under the names of parameters.
            is_named_optimizer: whether the optimizer names its parameters.
            load_directly: whether the optimizer loads it.
            group: the ranks that receive the state, if the first rank alone has it.

        Raises:
            RuntimeError: a state has another size than its parameter.
        """
        config = settings_of(model).optim_state_dict_config
        is_rank0_only = isinstance(config, FullOptimStateDictConfig) and config.rank0_only
        sender = _group(group) if is_rank0_only else None
        result = numbered_state(model, optim, optim_state_dict, is_named_optimizer, sender)
        if load_directly:
            optim.load_state_dict(result)
        return result

    @staticmethod
    def full_optim_state_dict(
        model: Module,
        optim: Any,
        optim_input: Iterable[Any] | None = None,
        rank0_only: bool = True,
        group: Any = None,
    ) -> dict[str, Any]:
        """The state of an optimizer in whole tensors, under the names of parameters.

        Args:
            model: the model.
            optim: the optimizer.
            optim_input: deprecated: its parameters.
            rank0_only: whether the first rank alone gets it.
            group: accepted; the wrappers have the ranks.
        """
        _warn("full_optim_state_dict", "optim_state_dict")
        return named_state(model, _source(optim_input, optim), optim.state_dict(), False, rank0_only)

    @staticmethod
    def sharded_optim_state_dict(model: Module, optim: Any, group: Any = None) -> dict[str, Any]:
        """The state of an optimizer in distributed tensors, under the names of parameters.

        Args:
            model: the model.
            optim: the optimizer.
            group: accepted; the wrappers have the ranks.
        """
        _warn("sharded_optim_state_dict", "optim_state_dict")
        return named_state(model, optim, optim.state_dict(), True, False)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any],
        model: Module,
        optim_input: Iterable[Any] | None = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """The state dict that an optimizer can load, from whole tensors on all ranks.

        Args:
            full_optim_state_dict: the state of `full_optim_state_dict`.
            model: the model.
            optim_input: deprecated: the parameters of the optimizer.
            optim: the optimizer; by default one of all parameters of the model.
        """
        _warn("shard_full_optim_state_dict", "optim_state_dict_to_load")
        return numbered_state(model, _source(optim_input, optim), full_optim_state_dict, False)

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: Module, optim: Any
    ) -> dict[str, Any]:
        """The state dict that an optimizer can load, from distributed tensors.

        Args:
            sharded_optim_state_dict: the state of `sharded_optim_state_dict`.
            model: the model.
            optim: the optimizer.
        """
        _warn("flatten_sharded_optim_state_dict", "optim_state_dict_to_load")
        return numbered_state(model, optim, sharded_optim_state_dict, False)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: Module,
        optim_input: Iterable[Any] | None = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """The state dict that an optimizer can load, from whole tensors of the first rank.

        Args:
            full_optim_state_dict: the state of `full_optim_state_dict`; None on other ranks.
            model: the model.
            optim_input: deprecated: the parameters of the optimizer.
            optim: the optimizer; by default one of all parameters of the model.
            group: the ranks; all by default.
        """
        _warn("scatter_full_optim_state_dict", "optim_state_dict_to_load")
        source = _source(optim_input, optim)
        return numbered_state(model, source, full_optim_state_dict, False, _group(group))

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: OptimStateKeyType,
        model: Module,
        optim_input: Iterable[Any] | None = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """A state dict under the names of parameters, or under their numbers, as an unwrapped model's optimizer has.

        Args:
            optim_state_dict: the state dict.
            optim_state_key_type: names or numbers.
            model: the model, wrapped or not.
            optim_input: deprecated: the parameters of the optimizer.
            optim: the optimizer; by default one of all parameters of the model.

        Raises:
            AssertionError: the type is neither.
            ValueError: the state dict has both, or a parameter that the model lacks.
        """
        if optim_state_key_type not in (OptimStateKeyType.PARAM_NAME, OptimStateKeyType.PARAM_ID):
            raise AssertionError(
                f"Expected optim_state_key_type to be PARAM_NAME or PARAM_ID, got {optim_state_key_type}"
            )
        to_names = optim_state_key_type is OptimStateKeyType.PARAM_NAME
        return rename_parameters(optim_state_dict, to_names, _source(optim_input, optim), model)


def _group(group: Any) -> Any:
    return resolve(group)


def _source(optim_input: Iterable[Any] | None, optim: Any) -> Any:
    if optim_input is None:
        return optim
    warnings.warn(
        "The `optim_input` argument is deprecated and will be removed after PyTorch 1.13. "
        "You may remove it from your code without changing its functionality.",
        FutureWarning,
        stacklevel=3,
    )
    return optim_input


def _warn(name: str, successor: str) -> None:
    warnings.warn(
        f"``FullyShardedDataParallel.{name}``is being deprecated and is replaced by "
        f"``FullyShardedDataParallel.{successor}``. ``FullyShardedDataParallel.{name}`` may be removed after "
        "PyTorch 2.2.",
        FutureWarning,
        stacklevel=3,
    )
