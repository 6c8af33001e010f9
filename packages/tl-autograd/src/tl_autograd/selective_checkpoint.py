"""Checkpoints that store the results of some operators: two modes below autograd, one for each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tl_autograd.checkpoint_policy import CheckpointPolicy, SelectiveCheckpointContext
from tl_core import Tensor
from tl_core.operators import packets as ops
from tl_core.pytree import tree_map
from tl_core.subclasses.python_dispatch import TorchDispatchMode

__all__ = ["SAC_IGNORED_OPS", "contexts"]

# Operators that only read sizes, or separate a tensor from its history. No policy is called for them.
_IGNORED = ("detach.default", "sym_size.default", "sym_size.int", "sym_stride.default", "sym_numel.default")
_KEEPING = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


def _operator_of(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(ops.aten, packet, None), overload, None)


SAC_IGNORED_OPS = {operator for operator in map(_operator_of, _IGNORED) if operator is not None}


class _VersionWrapper:
    """A stored value, and its version at that time."""

    def __init__(self, val: Any) -> None:
        self.val = val
        self.version = val._version if isinstance(val, Tensor) else None

    def get_val(self, allow_cache_entry_mutation: bool) -> Any:
        """The stored value.

        Raises:
            RuntimeError: the value was written to since, and mutation isn't allowed.
        """
        if self.version is not None and not allow_cache_entry_mutation and self.val._version != self.version:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated: its operator's policy must not "
                "be to save, or allow_cache_entry_mutation must be True"
            )
        return self.val


Storage = dict[Any, list[Any]]
Policy = Callable[..., CheckpointPolicy | bool]


def _policy_of(policy_fn: Policy, again: bool, func: Any, args: Any, kwargs: Any) -> CheckpointPolicy:
    policy = policy_fn(SelectiveCheckpointContext(is_recompute=again), func, *args, **kwargs)
    if isinstance(policy, bool):
        return CheckpointPolicy.MUST_SAVE if policy else CheckpointPolicy.PREFER_RECOMPUTE
    if not isinstance(policy, CheckpointPolicy):
        raise TypeError(f"a policy returns a CheckpointPolicy or a bool, got {type(policy).__name__}")
    return policy


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The mode of the first run: stores the results that the policy selects."""

    def __init__(self, policy_fn: Policy, storage: Storage) -> None:
        super().__init__()
        self.policy_fn = policy_fn
        self.storage = storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {} if kwargs is None else kwargs
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        policy = _policy_of(self.policy_fn, False, func, args, kwargs)
        out = func(*args, **kwargs)
        if policy in _KEEPING:
            values = tree_map(lambda x: _VersionWrapper(x.detach() if isinstance(x, Tensor) else x), out)
            self.storage.setdefault(func, []).append(values)
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The mode of the second run: returns stored results instead of a computation."""

    def __init__(self, policy_fn: Policy, storage: Storage, allow_cache_entry_mutation: bool) -> None:
        super().__init__()
        self.policy_fn = policy_fn
        self.storage = storage
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {} if kwargs is None else kwargs
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        if _policy_of(self.policy_fn, True, func, args, kwargs) not in _KEEPING:
            return func(*args, **kwargs)
        results = self.storage.get(func)
        if results is None:
            raise RuntimeError(f"{func} encountered during backward, but not found in storage")
        if not results:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        return tree_map(lambda x: x.get_val(self.allow_cache_entry_mutation), results.pop(0))


def contexts(policy_fn_or_list: Policy | Sequence[Any], allow_cache_entry_mutation: bool) -> tuple[Any, Any]:
    """The modes of one call of a checkpointed function.

    Args:
        policy_fn_or_list: the policy, or the operators whose results are stored.
        allow_cache_entry_mutation: whether stored results may be written to.

    Returns:
        The mode of the first run and that of the second.
    """
    storage: Storage = {}
    policy = _policy(policy_fn_or_list)
    return (
        _CachingTorchDispatchMode(policy, storage),
        _CachedTorchDispatchMode(policy, storage, allow_cache_entry_mutation),
    )


def _policy(choice: Policy | Sequence[Any]) -> Policy:
    if not isinstance(choice, (list, tuple)):
        if not callable(choice):
            raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
        return choice
    for operator in choice:
        if not isinstance(operator, ops.OpOverload):
            hint = ""
            if isinstance(operator, ops.OpOverloadPacket):
                hint = f" Please update the OpOverloadPacket to a specific OpOverload, such as {operator}.default."
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {operator} of type {type(operator)}.{hint}"
            )
    operators = set(choice)
    return lambda ctx, op, *args, **kwargs: (
        CheckpointPolicy.MUST_SAVE if op in operators else CheckpointPolicy.PREFER_RECOMPUTE
    )
