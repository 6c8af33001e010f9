"""`torch._dynamo.debug_utils`: comparisons of a program with its compiled form."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core.pytree import tree_map_only

from .test_helpers import clone_me, collect_results, reduce_to_scalar_loss, requires_bwd_pass, reset_rng_state
from .utils import same

__all__ = [
    "AccuracyError",
    "backend_accuracy_fails",
    "cast_to",
    "cast_to_fp64",
    "clone_inputs_retaining_gradness",
    "run_fwd_maybe_bwd",
    "same_two_models",
]


class AccuracyError(Exception):
    """Two programs that should compute the same compute different results."""


def clone_inputs_retaining_gradness(example_inputs: Sequence[Any]) -> list[Any]:
    """Copies of tensors, with records of derivatives where the tensors have one.

    Args:
        example_inputs: the tensors, and other values.

    Example:
        >>> [t.requires_grad for t in clone_inputs_retaining_gradness([tl_core.ones(2, requires_grad=True)])]
        [True]
    """
    return [clone_me(x) if isinstance(x, tl_core.Tensor) else x for x in example_inputs]


def run_fwd_maybe_bwd(
    gm: Any, args: Sequence[Any], only_fwd: bool = False, disable_clone: bool = False
) -> Any:
    """The results of a call, with gradients if the result has a derivative.

    Args:
        gm: the module or function.
        args: the arguments.
        only_fwd: whether gradients are left out.
        disable_clone: whether the call gets the arguments themselves instead of copies.

    Returns:
        The result; with gradients a list as of `torch._dynamo.testing.collect_results`.
    """
    gm = copy.deepcopy(gm)
    args = args if disable_clone else clone_inputs_retaining_gradness(args)
    if hasattr(gm, "zero_grad"):
        gm.zero_grad(True)
    out = gm(*args)
    if only_fwd or not requires_bwd_pass(out):
        return out
    loss = reduce_to_scalar_loss(out)
    loss.backward()
    if hasattr(gm, "named_parameters"):
        return collect_results(gm, out, None, args)
    return [out, [clone_me(x.grad) for x in args if isinstance(x, tl_core.Tensor)]]


def same_two_models(
    gm: Any,
    opt_gm: Any,
    example_inputs: Sequence[Any],
    only_fwd: bool = False,
    *,
    require_fp64: bool = False,
    ignore_non_fp: bool = False,
) -> bool:
    """Whether two modules return the same results and gradients.

    Args:
        gm: a module.
        opt_gm: another module.
        example_inputs: the arguments of both.
        only_fwd: whether gradients are left out.
        require_fp64, ignore_non_fp: accepted.

    Example:
        >>> same_two_models(lambda x: x + x, lambda x: 2 * x, [tl_core.ones(2)])
        True
    """
    reset_rng_state()
    expected = run_fwd_maybe_bwd(gm, example_inputs, only_fwd)
    reset_rng_state()
    return same(expected, run_fwd_maybe_bwd(opt_gm, example_inputs, only_fwd), tol=1e-3, equal_nan=True)


def backend_accuracy_fails(
    gm: Any, example_inputs: Sequence[Any], compiler_fn: Any, only_fwd: bool = False, **options: Any
) -> bool:
    """Whether a backend computes something else than the graph.

    Args:
        gm: the graph.
        example_inputs: examples of its inputs.
        compiler_fn: the backend.
        only_fwd: whether gradients are left out.
        options: accepted.
    """
    compiled = compiler_fn(copy.deepcopy(gm), clone_inputs_retaining_gradness(example_inputs))
    return not same_two_models(gm, compiled, example_inputs, only_fwd)


def cast_to(dtype: Any, model: Any, inputs: Any) -> tuple[Any, Any]:
    """A module and its arguments with floating-point tensors of another type.

    Args:
        dtype: the type.
        model: the module, which is changed.
        inputs: the arguments.

    Example:
        >>> import tl_nn
        >>> model, (x,) = cast_to(tl_core.float64, tl_nn.Linear(1, 1), [tl_core.ones(1)])
        >>> model(x).dtype
        torch.float64
    """
    if hasattr(model, "to"):
        model = model.to(dtype)
    return model, tree_map_only(
        tl_core.Tensor, lambda x: x.to(dtype) if x.is_floating_point() else x, list(inputs)
    )


def cast_to_fp64(model: Any, inputs: Any) -> tuple[Any, Any]:
    """A module and its arguments with tensors of float64.

    Args:
        model: the module, which is changed.
        inputs: the arguments.
    """
    return cast_to(tl_core.float64, model, inputs)
