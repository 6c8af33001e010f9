"""`torch._prims.rng_prims`: operators of graphs that draw the same random numbers twice.

A recomputed forward pass draws the numbers of the first one: `run_and_save_rng_state` stores the state of the generator
before it calls an operator, and `run_with_rng_state` calls the operator at this state.
"""

from __future__ import annotations

from typing import Any

import tl_core
from tl_autograd import Function
from tl_compiler.higher_order.base import HigherOrderOperator
from tl_compiler.tracer.proxy_mode import current_mode
from tl_compiler.tracer.whole_calls import recorded_whole
from tl_core import Tensor
from tl_core.pytree import tree_leaves, tree_map_only

__all__ = ["run_and_save_rng_state", "run_with_rng_state"]


class _NoDerivative(Function):
    """Passes a result on. Its derivative raises."""

    @staticmethod
    def forward(ctx: Any, name: str, result: Tensor, *operands: Tensor) -> Tensor:
        ctx.operator = name
        return result.view_as(result)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(f"Autograd not implemented for {ctx.operator}")


def get_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """The type of the device that a call runs on.

    Args:
        args, kwargs: the arguments of the call.

    Returns:
        The type of the keyword argument `device`, or of the first tensor; None if the call has neither.

    Example:
        >>> get_device((1, tl_core.zeros(2)), {})
        'cpu'
    """
    if kwargs.get("device"):
        return tl_core.device(kwargs["device"]).type
    return next((a.device.type for a in args if isinstance(a, Tensor)), None)


class _StateOperator(HigherOrderOperator):
    """What both operators have in common: one node of a graph, and results without a derivative."""

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], operands: Any) -> Any:
        if get_device(*operands) != "cpu":
            raise AssertionError(f"Backend not supported for {get_device(*operands)}")
        with tl_core.no_grad():
            result = recorded_whole(self, args, self.name(), self.run, kwargs)
        recorded = [t for t in tree_leaves(operands) if isinstance(t, Tensor) and t.requires_grad]
        if not recorded or not tl_core.is_grad_enabled() or current_mode() is not None:
            return result
        return tree_map_only(
            Tensor,
            lambda t: _NoDerivative.apply(self.name(), t, *recorded) if t.is_floating_point() else t,
            result,
        )

    def run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


class RunAndSaveRngState(_StateOperator):
    """Calls an operator, and returns the state of the generator from before the call too.

    Args:
        op: the operator.
        args, kwargs: the arguments of the operator.

    Example:
        >>> state, numbers = run_and_save_rng_state(tl_core.ops.aten.rand_like.default, tl_core.zeros(2))
        >>> tl_core.equal(numbers, run_with_rng_state(state, tl_core.ops.aten.rand_like.default, tl_core.zeros(2)))
        True
    """

    def __init__(self) -> None:
        super().__init__("run_and_save_rng_state", cacheable=True)

    def __call__(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator.

        Args:
            op: the operator.
            args, kwargs: the arguments of the operator.

        Returns:
            The state, and the result of the operator.

        Raises:
            AssertionError: the call has no tensor and no device, or a device without a generator of tl.
        """
        return self.call((op, *args), kwargs, (args, kwargs))

    def run(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator outside of a trace."""
        return tl_core.random.get_rng_state(), op(*args, **kwargs)


class RunWithRngState(_StateOperator):
    """Calls an operator at a state of the generator, which has its own state again afterwards.

    Args:
        rng_state: the state, uint8 of one dimension.
        op: the operator.
        args, kwargs: the arguments of the operator.

    Example:
        >>> state = tl_core.get_rng_state()
        >>> first = tl_core.rand(2)
        >>> tl_core.equal(first, run_with_rng_state(state, tl_core.ops.aten.rand_like.default, first))
        True
    """

    def __init__(self) -> None:
        super().__init__("run_with_rng_state", cacheable=True)

    def __call__(self, rng_state: Tensor, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator.

        Args:
            rng_state: the state.
            op: the operator.
            args, kwargs: the arguments of the operator.

        Returns:
            The result of the operator.

        Raises:
            AssertionError: the call has no tensor and no device, or a device without a generator of tl.
        """
        return self.call((rng_state, op, *args), kwargs, (args, kwargs))

    def run(self, rng_state: Tensor, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator outside of a trace. A state without numbers, that of a fake tensor, is not set."""
        if type(rng_state) is not Tensor:
            return op(*args, **kwargs)
        before = tl_core.random.get_rng_state()
        tl_core.random.set_rng_state(rng_state)
        try:
            return op(*args, **kwargs)
        finally:
            tl_core.random.set_rng_state(before)


run_and_save_rng_state = RunAndSaveRngState()
run_with_rng_state = RunWithRngState()
