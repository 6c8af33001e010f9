"""Jacobians and Hessians of functions of tensors, and products with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd.backward import grad
from tl_core import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


_OUTPUTS = "outputs of the user-provided function given to "


def _tuple(value: Any, what: str) -> tuple[bool, tuple]:
    """(whether the value is a tuple, the value as a tuple). Raises TypeError for other values than tensors."""
    many = isinstance(value, tuple)
    items = value if many else (value,)
    for i, x in enumerate(items):
        if not isinstance(x, Tensor):
            which = f"the value at index {i}" if many else "the given value"
            raise TypeError(
                f"The {what} must be either a Tensor or a tuple of Tensors but {which} has type {type(x)}."
            )
    return many, items


def _fresh(inputs: tuple, create_graph: bool) -> tuple:
    """The inputs as new tensors that require grad. With `create_graph` they are connected to the originals."""
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_(True) for x in inputs
    )


def _result(value: Any, many: bool, create_graph: bool) -> Any:
    values = tuple(v if create_graph else v.detach() for v in value)
    return values if many else values[0]


def _vector(v: Any, like: tuple, like_many: bool, name: str, missing: str) -> tuple:
    """The tensors of v, with the shapes of `like`. None stands for 1, if `like` has one element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {missing} a single Tensor with a single element."
            )
        return (tl_core.ones_like(like[0]),)
    _, vs = _tuple(v, f"v given to {name}")
    if len(vs) != len(like):
        message = f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}."
        raise RuntimeError(message if like_many else "The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(vs, like, strict=True)):
        if a.shape != b.shape:
            entry = f"Entry {i} in v" if like_many else "v"
            raise RuntimeError(f"{entry} has invalid size: should be {b.shape} but got {a.shape}.")
    return vs


_OF_OUTPUT = "the user-provided function returns"
_OF_INPUT = "the input to the user-provided function is"


def _check_recorded(outputs: tuple, strict: bool) -> None:
    for i, y in enumerate(outputs):
        if strict and not y.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed "
                "in a differentiable manner from the input when running in strict mode."
            )


def _check_varies(jacobians: tuple, strict: bool, which: str) -> None:
    """Checks that a first derivative depends on the input, if it is differentiated again."""
    for i, g in enumerate(jacobians):
        if strict and not g.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function {which.format(i)}. This is not allowed in strict mode "
                "when create_graph=True."
            )


_INDEPENDENT, _CONSTANT = (
    "is independent of input {}",
    "with respect to input {} is independent of the inputs",
)


def _grad(
    outputs: tuple,
    inputs: tuple,
    vectors: tuple,
    create_graph: bool,
    strict: bool,
    which: str = "The output",
    retain: bool = True,
) -> tuple:
    used = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    if not used:
        return tuple(tl_core.zeros_like(x) for x in inputs)
    gradients = grad(
        [y for y, _ in used],
        inputs,
        [v for _, v in used],
        retain_graph=retain,
        create_graph=create_graph,
        allow_unused=True,
    )
    for i, g in enumerate(gradients):
        if strict and g is None:
            raise RuntimeError(
                f"{which} of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode."
            )
    return tuple(tl_core.zeros_like(x) if g is None else g for g, x in zip(gradients, inputs))


def vjp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(inputs), the product of `v` with the Jacobian at the inputs).

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the inputs of the function, a tensor or a tuple.
        v: the vector, with the shapes of the outputs. None stands for 1, if they have one element.
        create_graph: whether the result can be differentiated again.
        strict: raise RuntimeError if an output doesn't depend on an input, instead of returning zeros.

    Example:
        >>> import tl_core
        >>> vjp(lambda x: x**2, tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with tl_core.enable_grad():
        many, xs = _tuple(inputs, "inputs given to vjp")
        xs = _fresh(xs, create_graph)
        out_many, ys = _tuple(func(*xs), _OUTPUTS + "vjp")
        _check_recorded(ys, strict)
        vs = _vector(v, ys, out_many, "vjp", _OF_OUTPUT)
        product = _grad(ys, xs, vs, create_graph, strict)
        _check_varies(product, strict and create_graph, _INDEPENDENT)
    return _result(ys, out_many, create_graph), _result(product, many, create_graph)


def jvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(inputs), the product of the Jacobian at the inputs with `v`), by differentiating the vjp.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the inputs of the function, a tensor or a tuple.
        v: the vector, with the shapes of the inputs. None stands for 1, if they have one element.
        create_graph: whether the result can be differentiated again.
        strict: raise RuntimeError if an output doesn't depend on an input, instead of returning zeros.

    Example:
        >>> import tl_core
        >>> jvp(lambda x: x**2, tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with tl_core.enable_grad():
        many, xs = _tuple(inputs, "inputs given to jvp")
        vs = _vector(v, xs, many, "jvp", _OF_INPUT)
        xs = _fresh(xs, create_graph)
        out_many, ys = _tuple(func(*xs), _OUTPUTS + "jvp")
        _check_recorded(ys, strict)
        dummies = tuple(tl_core.zeros_like(y).requires_grad_() for y in ys)
        pulled = _grad(ys, xs, dummies, True, strict)
        pushed = _grad(pulled, dummies, vs, create_graph, False)
        _check_varies(pushed, strict and create_graph, _INDEPENDENT)
    return _result(ys, out_many, create_graph), _result(pushed, out_many, create_graph)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: a tensor of shape (*output, *input), or tuples of them for several outputs or inputs.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: make the result differentiable.
        strict: raise RuntimeError if an output does not depend on an input, instead of returning zeros.
        vectorize: compute all rows or columns at once, by `vmap`, instead of one after another.
        strategy: "reverse-mode" computes a row for each element of the outputs, "forward-mode" a column for each
            element of the inputs. Forward mode needs vectorize=True, as in PyTorch.

    Raises:
        NotImplementedError: strategy="forward-mode" without vectorize=True.
        RuntimeError: strict=True with vectorize=True.

    Example:
        >>> import tl_core
        >>> jacobian(lambda x: x * x.sum(), tl_core.tensor([1.0, 2.0]))
        tensor([[4., 1.],
                [2., 5.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f'Expected strategy to be either "forward-mode" or "reverse-mode" but got {strategy}'
        )
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    if strategy == "forward-mode":
        if not vectorize:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `strategy="forward-mode"` is only supported when `vectorize=True`'
            )
        return _forward_jacobian(func, inputs, create_graph)
    with tl_core.enable_grad():
        many, xs = _tuple(inputs, "inputs given to jacobian")
        xs = _fresh(xs, create_graph)
        out_many, ys = _tuple(func(*xs), _OUTPUTS + "jacobian")
        _check_recorded(ys, strict)
        rows = [
            _all_rows(y, xs, create_graph) if vectorize else _jacobian_rows(y, xs, create_graph, strict, i)
            for i, y in enumerate(ys)
        ]
    result = tuple(_result(r, many, create_graph) for r in rows)
    return result if out_many else result[0]


def _forward_jacobian(func: Callable, inputs: Any, create_graph: bool) -> Any:
    """Computes all columns at once: tangents for a batch of unit vectors."""
    from tl_autograd.func import jvp as push
    from tl_autograd.func import vmap

    many, xs = _tuple(inputs, "inputs given to jacobian")
    xs = _fresh(xs, create_graph)
    sizes = [x.numel() for x in xs]
    total = sum(sizes)
    starts = [sum(sizes[:i]) for i in range(len(xs))]
    basis = _construct_standard_basis_for(xs, sizes)
    basis = tuple(b.reshape((total, *x.shape)) for b, x in zip(basis, xs, strict=True))
    shapes: list[bool] = []

    def column(*tangents: Tensor) -> tuple:
        _, pushed = push(func, tuple(xs), tangents)
        out_many, values = _tuple(pushed, _OUTPUTS + "jacobian")
        shapes[:] = [out_many]
        return values

    columns = vmap(column, out_dims=-1)(*basis)
    result = tuple(
        _result(
            [
                c[..., at : at + n].reshape((*c.shape[:-1], *x.shape))
                for at, n, x in zip(starts, sizes, xs, strict=True)
            ],
            many,
            create_graph,
        )
        for c in columns
    )
    return result if shapes[0] else result[0]


def _construct_standard_basis_for(tensors: Any, tensor_numels: Any) -> tuple[Tensor, ...]:
    """The identity matrix of all elements, split by columns into one block for each tensor."""
    total = sum(tensor_numels)
    pieces = tl_core.eye(total).split(list(tensor_numels), 1)
    return tuple(p.to(dtype=t.dtype, device=t.device) for p, t in zip(pieces, tensors, strict=True))


def _all_rows(y: Tensor, xs: tuple, create_graph: bool) -> list[Tensor]:
    """The rows of all elements of an output, by one backward."""
    if y.numel() == 0 or not y.requires_grad:
        return [tl_core.zeros((*y.shape, *x.shape), dtype=x.dtype, device=x.device) for x in xs]
    basis = tl_core.eye(y.numel(), dtype=y.dtype, device=y.device).reshape(-1, *y.shape)
    gradients = grad(
        y, xs, basis, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
    )
    return [
        tl_core.zeros((*y.shape, *x.shape), dtype=x.dtype, device=x.device)
        if g is None
        else g.reshape((*y.shape, *x.shape))
        for g, x in zip(gradients, xs, strict=True)
    ]


def _jacobian_rows(y: Tensor, xs: tuple, create_graph: bool, strict: bool, number: int) -> list[Tensor]:
    columns: list[list[Tensor]] = [[] for _ in xs]
    for index in range(y.numel()):
        unit = tl_core.zeros(y.numel(), dtype=y.dtype)
        unit[index] = 1
        gradients = _grad((y,), xs, (unit.reshape(y.shape),), create_graph, strict, f"Output {number}")
        _check_varies(gradients, strict and create_graph, _INDEPENDENT)
        for column, g in zip(columns, gradients):
            column.append(g)
    return [
        tl_core.stack(c).reshape((*y.shape, *x.shape))
        if c
        else tl_core.zeros((*y.shape, *x.shape), dtype=x.dtype)
        for c, x in zip(columns, xs)
    ]


def _scalar(func: Callable, name: str, strict: bool) -> Callable:
    def call(*xs: Tensor) -> Tensor:
        many, ys = _tuple(func(*xs), _OUTPUTS + name)
        _check_recorded(ys, strict)
        if many or not isinstance(ys[0], Tensor):
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if ys[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {name} should contain a single element"
            )
        return ys[0].reshape(())

    return call


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with one element: shape (*input, *input), or tuples of tuples for several
    inputs.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the inputs of the function, a tensor or a tuple.
        create_graph: whether the result can be differentiated again.
        strict: raise RuntimeError if an output doesn't depend on an input, instead of returning zeros.
        vectorize: whether rows are computed as a batch.
        outer_jacobian_strategy: "reverse-mode" or "forward-mode".

    Example:
        >>> import tl_core
        >>> hessian(lambda x: (x**3).sum(), tl_core.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    many, _ = _tuple(inputs, "inputs given to hessian")

    def gradient(*xs: Tensor) -> Any:
        gradients = jacobian(_scalar(func, "hessian", strict), xs, create_graph=True)
        _check_varies(gradients, strict, _CONSTANT)
        return tuple(gradients) if many else gradients[0]

    return jacobian(
        gradient,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )


def _first_derivative(func: Callable, inputs: Any, create_graph: bool, strict: bool, name: str) -> tuple:
    many, xs = _tuple(inputs, f"inputs given to {name}")
    xs = _fresh(xs, create_graph)
    y = _scalar(func, name, strict)(*xs)
    first = _grad((y,), xs, (tl_core.ones_like(y),), True, strict)
    _check_varies(first, strict, _CONSTANT)
    return many, xs, y, first


def vhp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(inputs), the product of `v` with the Hessian).

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the inputs of the function, a tensor or a tuple.
        v: the vector, with the shapes of the inputs. None stands for 1, if they have one element.
        create_graph: whether the result can be differentiated again.
        strict: raise RuntimeError if an output doesn't depend on an input, instead of returning zeros.

    Example:
        >>> import tl_core
        >>> vhp(lambda x: (x**3).sum(), tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 0.0]))
        (tensor(9.), tensor([6., 0.]))
    """
    with tl_core.enable_grad():
        many, xs, y, first = _first_derivative(func, inputs, create_graph, strict, "vhp")
        vs = _vector(v, xs, many, "vhp", _OF_INPUT)
        product = _grad(first, xs, vs, create_graph, strict)
    return _result((y,), False, create_graph), _result(product, many, create_graph)


def hvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(inputs), the product of the Hessian with `v`).

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the inputs of the function, a tensor or a tuple.
        v: the vector, with the shapes of the inputs. None stands for 1, if they have one element.
        create_graph: whether the result can be differentiated again.
        strict: raise RuntimeError if an output doesn't depend on an input, instead of returning zeros.

    Example:
        >>> import tl_core
        >>> hvp(lambda x: (x**3).sum(), tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 0.0]))
        (tensor(9.), tensor([6., 0.]))
    """
    with tl_core.enable_grad():
        many, xs, y, first = _first_derivative(func, inputs, create_graph, strict, "hvp")
        vs = _vector(v, xs, many, "hvp", _OF_INPUT)
        dummies = tuple(tl_core.zeros_like(x).requires_grad_() for x in xs)
        pulled = _grad(first, xs, dummies, True, strict)
        product = _grad(pulled, dummies, vs, create_graph, False)
    return _result((y,), False, create_graph), _result(product, many, create_graph)
