"""`backward` and `grad`, which run the graph backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_autograd import _C
from tl_core import Tensor, zeros_like
from tl_core.overrides import handle_torch_function, has_torch_function, is_tensor_like

__all__ = ["backward", "grad"]


def _as_tuple(value: Any) -> tuple:
    """A tuple of the items of a sequence. A tensor, an object like a tensor or an edge is the only item."""
    if isinstance(value, Tensor) or hasattr(value, "output_nr") or is_tensor_like(value):
        return (value,)
    return tuple(value)


def _grads_for(roots: tuple, grads: Any) -> tuple:
    if grads is None:
        return (None,) * len(roots)
    grads = _as_tuple(grads)
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    return grads


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradients of `tensors` with respect to the leaves of their graph to the leaves' `.grad`.

    Args:
        tensors: the tensors to differentiate.
        grad_tensors: the vector of the vector-Jacobian product, one entry a tensor; not needed for one element.
        retain_graph: keep the saved tensors of the graph for another backward. Default: the value of `create_graph`.
        create_graph: record the backward itself, for higher derivatives.
        grad_variables: the former name of `grad_tensors`.
        inputs: accumulate into these only. Default: into all leaves.

    Raises:
        RuntimeError: a tensor does not require grad, has several elements without a gradient, or its graph was freed.

    Example::

        >>> x = tl_core.tensor([1.0, 2.0], requires_grad=True)
        >>> tl_autograd.backward((x * x).sum())
        >>> x.grad
        tensor([2., 4.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both "
                "passed to `backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    only = () if inputs is None else _as_tuple(inputs)
    if inputs is not None and not only:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _as_tuple(tensors)
    keep = create_graph if retain_graph is None else bool(retain_graph)
    _C.run_backward(roots, _grads_for(roots, grad_tensors), keep, bool(create_graph), only, True, True)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of `outputs` with respect to `inputs`, without a change of any `.grad`.

    Args:
        outputs, grad_outputs, retain_graph, create_graph: as for `backward`.
        inputs: tensors (or edges of the graph) that `outputs` were computed from.
        only_inputs: must be True; `backward` accumulates into leaves.
        allow_unused: return None for an input that `outputs` do not depend on, instead of raising.
        is_grads_batched: `grad_outputs` have an additional first dimension, which counts vectors. One backward
            multiplies all vectors with the Jacobian, and the results have the dimension too.
        materialize_grads: return zeros for such inputs. With `create_graph`, the zeros require gradients.

    Raises:
        RuntimeError: an input does not require grad or was not used.

    Example::

        >>> x = tl_core.tensor(3.0, requires_grad=True)
        >>> tl_autograd.grad(x**2, x)
        (tensor(6.),)
    """
    if not only_inputs:
        raise ValueError(
            "only_inputs=False is not supported: use backward(), which accumulates into all leaves"
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when "
            "materialize_grads=True, but got: allow_unused=False."
        )
    if isinstance(inputs, dict):
        values = grad(
            outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph, True, allow_unused,
            is_grads_batched, materialize_grads,
        )  # fmt: skip
        return dict(zip(inputs, values))  # type: ignore[return-value]
    roots, targets = _as_tuple(outputs), _as_tuple(inputs)
    if has_torch_function((*roots, *targets)):
        return handle_torch_function(
            grad, (*roots, *targets), roots, targets, grad_outputs=grad_outputs, retain_graph=retain_graph,
            create_graph=create_graph, only_inputs=only_inputs, allow_unused=allow_unused,
            is_grads_batched=is_grads_batched, materialize_grads=materialize_grads,
        )  # fmt: skip
    if not targets:
        raise ValueError("grad requires non-empty inputs.")
    keep = create_graph if retain_graph is None else bool(retain_graph)
    unused = bool(materialize_grads if allow_unused is None else allow_unused)
    vectors = _grads_for(roots, grad_outputs)
    if is_grads_batched:
        result = _of_batch(roots, vectors, keep, bool(create_graph), targets, unused)
    else:
        result = _C.run_backward(roots, vectors, keep, bool(create_graph), targets, unused, False)
    if any(hasattr(x, "wrap_gradient") for x in targets):
        result = tuple(
            x.wrap_gradient(g) if hasattr(x, "wrap_gradient") else g for g, x in zip(result, targets)
        )
    if materialize_grads:
        result = tuple(_zeros(x, create_graph) if g is None else g for g, x in zip(result, targets))
    return result


def _of_batch(roots: tuple, vectors: tuple, keep: bool, create: bool, targets: tuple, unused: bool) -> tuple:
    """Runs one backward for a batch of gradients of the outputs."""
    from tl_autograd.func import vmap

    for i, (y, v) in enumerate(zip(roots, vectors, strict=True)):
        if isinstance(y, Tensor) and isinstance(v, Tensor) and v.shape[1:] != y.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {v.shape} and output[{i}] has a "
                f"shape of {y.shape}."
            )
    cotangents = [v for v in vectors if v is not None]
    if not cotangents:
        raise RuntimeError("grad(..., is_grads_batched=True) needs grad_outputs")
    missing: list[int] = []

    def one(*batch: Tensor) -> tuple:
        left = iter(batch)
        grads = tuple(None if v is None else next(left) for v in vectors)
        result = _C.run_backward(roots, grads, keep, create, targets, unused, False)
        missing.extend(i for i, g in enumerate(result) if g is None)
        return tuple(zeros_like(cotangents[0]) if g is None else g for g in result)

    gradients = vmap(one, randomness="error")(*cotangents)
    return tuple(None if i in missing else g for i, g in enumerate(gradients))


def _zeros(x: Any, recorded: bool) -> Tensor:
    if not isinstance(x, Tensor):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return zeros_like(x).requires_grad_(recorded)
