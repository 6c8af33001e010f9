"""Helpers of PyTorch's own tests of its compiler."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Callable
from typing import Any, TypeVar

import tl_core
from tl_compiler.compiler import dynamo_config as config
from tl_compiler.compiler.watch import stop_here
from tl_core.pytree import tree_leaves

__all__ = [
    "check_dynamic_shape_capture",
    "clone_me",
    "collect_results",
    "expectedFailureCodegenDynamic",
    "expectedFailureDynamic",
    "expectedFailureDynamicWrapper",
    "extract_graph",
    "reduce_to_scalar_loss",
    "remove_optimized_module_prefix",
    "requires_bwd_pass",
    "reset_rng_state",
    "skipIfNotPy311",
    "skipIfNotPy312",
    "skipIfOnlyNotPy312",
    "skipIfPy312",
    "standard_test",
    "unsupported",
    "xfailIfPy312",
]

F = TypeVar("F", bound=Callable[..., Any])


def unsupported(x: Any, y: Any) -> Any:
    """Returns its second argument, and keeps a compiled function that calls it from becoming a graph.

    Args:
        x: a value.
        y: another value.

    Example:
        >>> unsupported(1, 2)
        2
    """
    stop_here("unsupported() is called")
    return y


def clone_me(x: Any) -> Any:
    """A copy of a tensor that begins a record of derivatives of its own; None for None.

    Args:
        x: the tensor.

    Example:
        >>> clone_me(tl_core.ones(2, requires_grad=True)).requires_grad
        True
    """
    return None if x is None else x.detach().clone().requires_grad_(x.requires_grad)


def remove_optimized_module_prefix(name: str) -> str:
    """The name of a parameter in the module that was compiled.

    Args:
        name: the name in the wrapper of the module.

    Example:
        >>> remove_optimized_module_prefix("_orig_mod.weight")
        'weight'
    """
    return name.removeprefix("_orig_mod.")


def collect_results(model: Any, prediction: Any, loss: Any, example_inputs: Any) -> list[Any]:
    """The prediction and the loss of a model with all gradients, for comparisons.

    Args:
        model: the module, whose parameters have gradients.
        prediction: the result of a call.
        loss: the number that was differentiated.
        example_inputs: the arguments of the call.

    Returns:
        The prediction, the loss, and gradients by the names of parameters and the numbers of inputs.
    """
    gradients, values, buffers = {}, {}, {}
    for name, parameter in model.named_parameters():
        name = remove_optimized_module_prefix(name)
        gradients[f"{name}.grad"] = clone_me(parameter.grad)
        values[name] = clone_me(parameter)
    for name, buffer in model.named_buffers():
        buffers[remove_optimized_module_prefix(name)] = clone_me(buffer)
    inputs = [clone_me(x.grad) for x in tree_leaves(example_inputs) if isinstance(x, tl_core.Tensor)]
    return [prediction, loss, gradients, values, buffers, *inputs]


def requires_bwd_pass(out: Any) -> bool:
    """Whether a result has a derivative.

    Args:
        out: a tensor, or a container of tensors.

    Example:
        >>> requires_bwd_pass([tl_core.ones(2), 3])
        False
    """
    return any(isinstance(x, tl_core.Tensor) and x.requires_grad for x in tree_leaves(out))


def reduce_to_scalar_loss(out: Any) -> Any:
    """A number that depends on all elements of a result.

    Args:
        out: a tensor, or a container of tensors.

    Raises:
        NotImplementedError: the result is of another kind.

    Example:
        >>> reduce_to_scalar_loss((tl_core.ones(2), tl_core.zeros(2))).item()
        0.5
    """
    if isinstance(out, tl_core.Tensor):
        return out.sum() / out.numel()
    if isinstance(out, (list, tuple)):
        return sum(map(reduce_to_scalar_loss, out)) / len(out)
    if isinstance(out, dict):
        return sum(map(reduce_to_scalar_loss, out.values())) / len(out)
    raise NotImplementedError(
        f"reduce_to_scalar_loss expects tensors, lists and dictionaries, got {type(out)}"
    )


def reset_rng_state(use_xla: bool = False) -> None:
    """Sets the generators of random numbers of Python and of tensors to one seed.

    Args:
        use_xla: accepted.

    Example:
        >>> reset_rng_state()
        >>> first = tl_core.rand(2)
        >>> reset_rng_state()
        >>> tl_core.equal(first, tl_core.rand(2))
        True
    """
    import random

    tl_core.manual_seed(1337)
    random.seed(1337)


def check_dynamic_shape_capture() -> bool:
    """Whether a first graph has symbols for the sizes of arguments.

    Example:
        >>> check_dynamic_shape_capture()
        False
    """
    return not config.assume_static_by_default


def standard_test(
    self: Any,
    fn: Callable[..., Any],
    nargs: int,
    expected_ops: int | None = None,
    expected_ops_dynamic: int | None = None,
    expected_frame_count: int = 1,
) -> None:
    """Compares a function with its compiled form on random arguments.

    Args:
        self: the test case.
        fn: the function.
        nargs: how many arguments it takes.
        expected_ops, expected_ops_dynamic: accepted: graphs of tl have operators, and PyTorch's numbers count calls.
        expected_frame_count: how many graphs the calls make, where the function has operators.

    Raises:
        AssertionError: a result or the number of graphs differs.
    """
    from tl_compiler.compiler import compile as compile_model

    from .recorders import CompileCounter
    from .utils import same

    counter = CompileCounter()
    compiled = compile_model(fn, backend=counter, fullgraph=True)
    first, second = ([tl_core.randn(10, 10) for _ in range(nargs)] for _ in range(2))
    for args in (first, second, first):
        expected, result = fn(*_copies(args)), compiled(*_copies(args))
        self.assertTrue(same(expected, result), "the compiled function returns another result")
    self.assertLessEqual(counter.frame_count, expected_frame_count)


def _copies(args: list[Any]) -> list[Any]:
    return [t.clone() for t in args]


def extract_graph(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The graphs of a call.

    Args:
        fn: the function.
        args, kwargs: the arguments of the call.

    Returns:
        The result, the graphs that `compile` passes to its backend, and those of their forward passes.

    Example:
        >>> out, graphs, forward = extract_graph(lambda x: x.sin(), tl_core.zeros(2))
        >>> out.tolist(), len(graphs), len(forward)
        ([0.0, 0.0], 1, 1)
    """
    from tl_compiler.compiler import compile as compile_model

    from .recorders import AotEagerAndRecordGraphs

    backend = AotEagerAndRecordGraphs()
    out = compile_model(backend=backend, fullgraph=True)(fn)(*args, **kwargs)
    return out, backend.graphs, backend.fw_graphs


# ---- marks of tests
def expectedFailureDynamic(fn: F) -> F:
    """Marks a test that fails where sizes are symbols.

    Args:
        fn: the test.
    """
    fn._expected_failure_dynamic = True  # type: ignore[attr-defined]
    return fn


def expectedFailureCodegenDynamic(fn: F) -> F:
    """Marks a test that fails where code is generated for symbolic sizes.

    Args:
        fn: the test.
    """
    fn._expected_failure_codegen_dynamic = True  # type: ignore[attr-defined]
    return fn


def expectedFailureDynamicWrapper(fn: F) -> F:
    """Marks a test that fails where sizes are symbols and a wrapper is generated.

    Args:
        fn: the test.
    """
    fn._expected_failure_dynamic_wrapper = True  # type: ignore[attr-defined]
    return fn


def skipIfNotPy311(fn: F) -> F:
    """A test that needs Python 3.11.

    Args:
        fn: the test.
    """
    return fn if sys.version_info >= (3, 11) else unittest.skip("needs Python 3.11")(fn)


def skipIfNotPy312(fn: F) -> F:
    """A test that needs Python 3.12.

    Args:
        fn: the test.
    """
    return fn if sys.version_info >= (3, 12) else unittest.skip("needs Python 3.12")(fn)


def skipIfOnlyNotPy312(fn: F) -> F:
    """A test that runs in Python 3.12 alone.

    Args:
        fn: the test.
    """
    return fn if sys.version_info[:2] == (3, 12) else unittest.skip("needs Python 3.12")(fn)


def skipIfPy312(fn: F) -> F:
    """A test for versions of Python before 3.12.

    Args:
        fn: the test.
    """
    return unittest.skip("not in Python 3.12")(fn) if sys.version_info >= (3, 12) else fn


def xfailIfPy312(fn: F) -> F:
    """A test that fails from Python 3.12 on.

    Args:
        fn: the test.
    """
    return unittest.expectedFailure(fn) if sys.version_info >= (3, 12) else fn
