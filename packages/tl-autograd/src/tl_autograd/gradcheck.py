"""Derivatives against finite differences: `gradcheck` and `gradgradcheck`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_autograd.backward import grad
from tl_autograd.function import Function
from tl_core import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when a derivative is wrong."""


def _inexact(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def _tuple(value: Any) -> tuple:
    return (value,) if isinstance(value, Tensor) else tuple(value)


# One output's difference quotients: moves along the real, and for complex inputs along the imaginary axis.
_Quotients = tuple[Tensor, Tensor | None]


class _Problem:
    """One function at one point, and the tolerances."""

    def __init__(self, func: Callable, inputs: Any, eps: float, atol: float, rtol: float, nondet_tol: float):
        self.func, self.inputs = func, _tuple(inputs)
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.differentiated = [x for x in self.inputs if isinstance(x, Tensor) and x.requires_grad]

    def outputs(self) -> list[Tensor]:
        return [y for y in _tuple(self.func(*self.inputs)) if _inexact(y)]

    def detached_outputs(self) -> list[Tensor]:
        return [y.detach().clone() for y in self.outputs()]


def _check_inputs(problem: _Problem) -> None:
    if not problem.differentiated:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but "
            "none of them have requires_grad=True."
        )
    for i, x in enumerate(problem.inputs):
        if not (isinstance(x, Tensor) and x.requires_grad):
            continue
        if x.dtype not in (tl_core.float64, tl_core.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating "
                "point or complex. This check will likely "
                "fail if all the inputs are not of double precision floating point or "
                "complex. ",
                stacklevel=4,
            )
        if any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride())):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only "
                "supports inputs that are non-overlapping to "
                "be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before "
                "passing it to gradcheck."
            )


# ---- numerical
# ------------------------------------------------------------------------------------------------------


class _Nudged:
    """A context manager that moves a tensor along a direction, in its own memory, and restores it at the end."""

    def __init__(self, x: Tensor, direction: Tensor):
        self.x, self.direction, self.start = x, direction, x.detach().clone()

    def at(self, delta: float | complex) -> None:
        with tl_core.no_grad():
            self.x.detach().copy_(self.start + self.direction * delta)

    def __enter__(self) -> _Nudged:
        return self

    def __exit__(self, *exc: object) -> None:
        with tl_core.no_grad():
            self.x.detach().copy_(self.start)


def _check_alike(ahead: list[Tensor], behind: list[Tensor], step: complex) -> None:
    """Checks that moves of the inputs change only the values of outputs."""
    for what in ("shape", "dtype"):
        for a, b in zip(ahead, behind, strict=False):
            if getattr(a, what) != getattr(b, what):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {step}, but "
                    f"got: {getattr(a, what)} and {getattr(b, what)}"
                )


def _difference(problem: _Problem, x: Tensor, direction: Tensor, step: complex) -> list[Tensor]:
    """Central difference quotients of all outputs, for a move of x along direction * step."""
    with _Nudged(x, direction) as nudged:
        nudged.at(step)
        ahead = problem.detached_outputs()
        nudged.at(-step)
        behind = problem.detached_outputs()
    _check_alike(ahead, behind, step)
    _check_alike(ahead, problem.detached_outputs(), step)
    return [(a - b) / (2 * problem.eps) for a, b in zip(ahead, behind)]


def _unit(x: Tensor, index: int) -> Tensor:
    direction = tl_core.zeros(x.numel(), dtype=x.dtype)
    direction[index] = 1
    return direction.reshape(x.shape)


def _numerical_jacobian(problem: _Problem, x: Tensor) -> list[_Quotients]:
    """For each output the Jacobian by differences, of shape (numel of x, numel of the output).

    With complex x it is dy/dx* in the convention of the gradients: the sum over the real and the imaginary
    move.
    """
    columns: list[list] = [[] for _ in problem.detached_outputs()]
    for index in range(x.numel()):
        unit = _unit(x, index)
        real = _difference(problem, x, unit, problem.eps)
        imaginary = _difference(problem, x, unit, problem.eps * 1j) if x.is_complex() else None
        for k, d in enumerate(real):
            columns[k].append((d, None if imaginary is None else imaginary[k]))
    return [_stack_moves(moves) for moves in columns]


def _stack_moves(moves: list) -> Any:
    real = tl_core.stack([d.reshape(-1) for d, _ in moves]) if moves else None
    imaginary = (
        tl_core.stack([d.reshape(-1) for _, d in moves]) if moves and moves[0][1] is not None else None
    )
    return real, imaginary


# ---- analytical
# -----------------------------------------------------------------------------------------------------


def _gradients(problem: _Problem, y: Tensor, v: Tensor | None) -> list[Tensor]:
    """The gradients of one output for one v, with zeros for inputs that the output doesn't depend on."""
    grads = (
        grad(y, problem.differentiated, v, retain_graph=True, allow_unused=True)
        if y.requires_grad
        else [None] * len(problem.differentiated)
    )
    return [tl_core.zeros_like(x) if g is None else g.detach() for g, x in zip(grads, problem.differentiated)]


def _analytical_rows(problem: _Problem, y: Tensor, factor: complex) -> list[Any]:
    """For each input the matrix (numel of y, numel of the input) of gradients for v = factor * unit
    vectors."""
    rows: list[list[Tensor]] = [[] for _ in problem.differentiated]
    for index in range(y.numel()):
        v = _unit(y, index) * factor
        for r, g in zip(rows, _gradients(problem, y, v.to(y.dtype))):
            r.append((g if g.layout is tl_core.strided else g.to_dense()).reshape(-1))
    return [tl_core.stack(r) if r else None for r in rows]


def _real(x: Tensor) -> Tensor:
    return tl_core.real(x) if x.is_complex() else x


def _imag(x: Tensor) -> Tensor:
    return tl_core.imag(x) if x.is_complex() else tl_core.zeros_like(x)


def _complex(real: Tensor, imaginary: Tensor) -> Tensor:
    return tl_core.view_as_complex(tl_core.stack([real, imaginary], -1).contiguous())


def _expected_gradient(quotients: _Quotients, factor: complex) -> Tensor:
    """The gradients for v = factor * unit, one row an output element, from quotients (numel of x, numel of y).

    The gradient of Re(conj(v) y) with respect to x = a + ib is d/da + i d/db.
    """
    real, imaginary = quotients

    def along(d: Tensor) -> Tensor:
        moved = _real(d) if factor == 1 else _imag(d)
        return moved.transpose(0, 1)

    if imaginary is None:
        return along(real)
    return _complex(along(real), along(imaginary))


def _compare(problem: _Problem, analytical: Tensor, numerical: Tensor, what: str, part: str) -> None:
    if analytical.numel() == 0:
        return
    if not tl_core.allclose(
        analytical.to(numerical.dtype), numerical, rtol=problem.rtol, atol=problem.atol, equal_nan=False
    ):
        raise GradcheckError(
            f"{part}Jacobian mismatch for {what},\nnumerical:{numerical.transpose(0, 1)}\n"
            f"analytical:{analytical.transpose(0, 1)}\n"
        )


def _check_slow(problem: _Problem) -> None:
    numerical = [_numerical_jacobian(problem, x) for x in problem.differentiated]
    outputs = problem.outputs()  # after the moves of the inputs: a graph must not see them change
    for k, y in enumerate(outputs):
        for factor in (1j, 1) if y.is_complex() else (1,):
            for i, analytical in enumerate(_analytical_rows(problem, y, factor)):
                if analytical is None or problem.differentiated[i].numel() == 0:
                    continue
                expected = _expected_gradient(numerical[i][k], factor)
                which = "real" if factor == 1 else "imaginary"
                part = (
                    f"While considering the {which} part of complex outputs only, " if y.is_complex() else ""
                )
                _compare(
                    problem,
                    analytical,
                    expected,
                    f"output {k} with respect to input {_position(problem, i)}",
                    part,
                )


def _position(problem: _Problem, i: int) -> int:
    return next(p for p, x in enumerate(problem.inputs) if x is problem.differentiated[i])


# ---- fast: one random projection on either side
# ---------------------------------------------------------------------


def _random_direction(x: Tensor, generator: Any) -> Tensor:
    v = tl_core.rand(x.shape, dtype=tl_core.float64, generator=generator) + 0.5
    if x.is_complex():
        v = _complex(v, tl_core.rand(x.shape, dtype=tl_core.float64, generator=generator) + 0.5)
    v = v.to(x.dtype)
    return v / max(float((_real(v) ** 2 + _imag(v) ** 2).sum()) ** 0.5, 1e-300)


def _dot(a: Tensor, b: Tensor) -> float:
    """Re(conj(a) b), summed."""
    return float((_real(a) * _real(b)).sum() + (_imag(a) * _imag(b)).sum())


def _check_fast(problem: _Problem) -> None:
    generator = tl_core.Generator().manual_seed(0)
    for i, x in enumerate(problem.differentiated):
        if x.numel() == 0:
            continue
        u = _random_direction(x, generator)
        moved = _difference(problem, x, u, problem.eps)
        for k, y in enumerate(problem.outputs()):
            v = _random_direction(y, generator)
            numerical = _dot(v, moved[k])
            analytical = _dot(_gradients(problem, y, v)[i], u)
            if abs(analytical - numerical) > problem.atol + problem.rtol * abs(numerical):
                raise GradcheckError(
                    f"Jacobian mismatch for output {k} with respect to input "
                    f"{_position(problem, i)},\n"
                    f"numerical:{numerical}\nanalytical:{analytical}\n\nThe above "
                    "quantities relating the numerical and "
                    "analytical jacobians are computed in fast mode; run with "
                    "fast_mode=False for the whole matrices."
                )


# ---- further checks
# -------------------------------------------------------------------------------------------------


def _check_deterministic(problem: _Problem) -> None:
    for k, y in enumerate(problem.outputs()):
        if not y.requires_grad:
            continue
        v = tl_core.ones_like(y)
        for a, b in zip(_gradients(problem, y, v), _gradients(problem, y, v)):
            if a.numel() and float((a - b).abs().max()) > problem.nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives "
                    "different values, although analytical gradient matches numerical "
                    "gradient. The tolerance for "
                    f"nondeterminism was {problem.nondet_tol}. (output {k})"
                )


def _check_shapes(problem: _Problem, check_dtypes: bool) -> None:
    for y in problem.outputs():
        if not y.requires_grad:
            continue
        for g, x in zip(
            grad(y, problem.differentiated, tl_core.zeros_like(y), retain_graph=True, allow_unused=True),
            problem.differentiated,
        ):
            if g is None:
                continue
            if g.shape != x.shape:
                raise GradcheckError(f"Gradient has shape {tuple(g.shape)}, its input {tuple(x.shape)}")
            if check_dtypes and g.dtype != x.dtype:
                raise GradcheckError(f"Gradient has dtype {g.dtype}, its input {x.dtype}")
            if g.numel() and float(g.abs().max()) != 0:
                raise GradcheckError("backward not multiplied by grad_output")


class _Undefined(Function):
    """The identity; its gradient never arrives."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> None:
        return None


def _check_undefined(problem: _Problem) -> None:
    """Missing gradients must act as zeros: those of all outputs, and those of all outputs except one."""
    outputs = [y for y in problem.outputs() if y.requires_grad]
    _check_none_arrives(problem, outputs)
    if len(outputs) < 2:
        return
    for index, output in enumerate(outputs):  # one tensor may be several outputs
        vs = [tl_core.zeros_like(y) for y in outputs]
        vs[index] = tl_core.ones_like(output)
        alone = _gradients(problem, output, tl_core.ones_like(output))
        together = grad(outputs, problem.differentiated, vs, retain_graph=True, allow_unused=True)
        for a, b, x in zip(alone, together, problem.differentiated):
            b = tl_core.zeros_like(x) if b is None else b
            if a.numel() and float((a - b).abs().max()) > problem.atol:
                raise GradcheckError(
                    "Expected undefined output grads to be treated as zeros, but the gradients differ"
                )


def _check_none_arrives(problem: _Problem, outputs: list[Tensor]) -> None:
    unreached = [_Undefined.apply(y) for y in outputs]
    vs = [tl_core.zeros_like(y) for y in outputs]
    try:
        gradients = grad(unreached, problem.differentiated, vs, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        warnings.warn(
            "Backwards compatibility: New undefined gradient support checking feature is on by default; "
            "check_undefined_grad=False turns it off for functions whose backward takes no undefined gradients.",
            stacklevel=5,
        )
        raise GradcheckError(
            f"Expected backward function to handle undefined output grads, but it raised: {error}"
        ) from error
    for i, g in enumerate(gradients):
        if g is not None and g.numel() and float(g.abs().max()) != 0:
            raise GradcheckError(
                f"Expected all input grads to be undefined or zero when all output grads are, but that of input "
                f"{_position(problem, i)} is not"
            )


def _check_forward(problem: _Problem, fast: bool) -> None:
    """Tangents against difference quotients: for every unit vector, or for one random direction."""
    from tl_autograd.gradcheck_forward import push_direction

    generator = tl_core.Generator().manual_seed(2)
    for i, x in enumerate(problem.differentiated):
        if x.numel() == 0:
            continue
        directions = [_random_direction(x, generator)] if fast else [_unit(x, k) for k in range(x.numel())]
        for direction in directions:
            for factor in (1, 1j) if x.is_complex() else (1,):
                numerical = _difference(problem, x, direction, problem.eps * factor)
                tangents = push_direction(problem.func, problem.inputs, x, (direction * factor).to(x.dtype))
                for k, (t, d) in enumerate(zip(tangents, numerical)):
                    if not tl_core.allclose(t.to(d.dtype), d, rtol=problem.rtol, atol=problem.atol):
                        raise GradcheckError(
                            f"Jacobian computed with forward mode mismatch for output {k} with respect to input "
                            f"{_position(problem, i)},\nnumerical:{d}\nanalytical:{t}\n"
                        )


def _check_missing_tangents(problem: _Problem) -> None:
    from tl_autograd.gradcheck_forward import missing_tangent_mismatch

    for x in problem.differentiated:
        text = missing_tangent_mismatch(problem.func, problem.inputs, x, problem.atol, problem.rtol)
        if text is not None:
            raise GradcheckError(f"Expected missing tangents to be treated as zeros, but {text}")


def _check_batches(problem: _Problem, gradients: bool, tangents: bool) -> None:
    from tl_autograd import gradcheck_forward as checks

    if gradients:
        for y in problem.outputs():
            if y.requires_grad:
                mismatch = checks.batched_gradient_mismatch(
                    y, problem.differentiated, problem.atol, problem.rtol
                )
                _refuse_batch("batched gradient computation", mismatch)
    if tangents:
        for x in problem.differentiated:
            mismatch = checks.batched_tangent_mismatch(
                problem.func, problem.inputs, x, problem.atol, problem.rtol
            )
            _refuse_batch("forward derivatives of batches", mismatch)


def _refuse_batch(what: str, mismatch: str | None) -> None:
    if mismatch is not None:
        raise GradcheckError(f"gradcheck or gradgradcheck failed while testing {what}: {mismatch}")


def _any_sparse(tensors: Sequence[Any]) -> bool:
    return any(isinstance(x, Tensor) and x.layout is not tl_core.strided and x.requires_grad for x in tensors)


def _with_dense_results(func: Callable, masked: bool) -> Callable:
    """The function with all elements of sparse results."""

    def dense(y: Any) -> Any:
        if not isinstance(y, Tensor) or y.layout is tl_core.strided:
            return y
        return y.to_dense(masked_grad=masked)

    def on_dense(*args: Any) -> Any:
        result = func(*args)
        return dense(result) if isinstance(result, Tensor) else type(result)(dense(y) for y in result)

    return on_dense


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the gradients of `func` with central differences.

    Args:
        func: a function of the inputs that returns one tensor or several.
        inputs: float64 or complex128, without overlap. Those that require grad are checked.
        eps: the step of the differences.
        atol, rtol: tolerances of the comparison.
        raise_exception: raise GradcheckError on a mismatch; otherwise return False.
        nondet_tol: the largest difference between two backward runs.
        check_undefined_grad: also check that missing gradients act as zeros.
        check_grad_dtypes: also check that gradients have their input's dtype.
        check_batched_grad: also check that gradients for a batch of vectors, by vmap, equal those for each vector.
        check_forward_ad: also compare the tangents of the forward mode.
        check_batched_forward_grad: also check that tangents for a batch of directions equal those for each direction.
        check_backward_ad: compare the gradients of the reverse mode.
        fast_mode: compare one random projection of the Jacobian instead of the whole Jacobian.
        masked: change only the stored elements of sparse inputs; otherwise all elements change.

    Returns:
        True if all checks pass.

    Raises:
        GradcheckError: a mismatch. ValueError: no input requires grad.

    Example::

        >>> x = tl_core.rand(3, dtype=tl_core.float64, requires_grad=True)
        >>> tl_autograd.gradcheck(lambda x: (x * x).sum(), x)
        True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if _any_sparse(_tuple(inputs)):
        check = tl_core.sparse.as_sparse_gradcheck(gradcheck)
        return check(
            func, inputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
            check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
            check_batched_grad=check_batched_grad, check_batched_forward_grad=check_batched_forward_grad,
            check_forward_ad=check_forward_ad, check_backward_ad=check_backward_ad, fast_mode=fast_mode,
            masked=bool(masked),
        )  # fmt: skip
    problem = _Problem(_with_dense_results(func, bool(masked)), inputs, eps, atol, rtol, nondet_tol)
    try:
        _check_inputs(problem)
        with tl_core.enable_grad():
            if check_backward_ad:
                _check_all(problem, fast_mode, check_undefined_grad, check_grad_dtypes)
            if check_forward_ad:
                _check_forward(problem, fast_mode)
                if check_undefined_grad:
                    _check_missing_tangents(problem)
            _check_batches(problem, check_batched_grad, check_batched_forward_grad)
    except (GradcheckError, ValueError) as error:
        if raise_exception or not isinstance(error, GradcheckError):
            raise
        return False
    return True


def _check_constant(problem: _Problem) -> None:
    """Checks that no output changes with the inputs, where no output requires grad."""
    for x in problem.differentiated:
        for real, imaginary in _numerical_jacobian(problem, x):
            for d in (real, imaginary):
                if d is not None and d.numel() and float(d.abs().max()) > problem.atol:
                    raise GradcheckError(
                        "Numerical gradient for function expected to be zero: no output requires grad, so the function "
                        "does not depend on its inputs differentiably"
                    )


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> Any:
    """The Jacobian of the first result of `fn(inputs)` by differences, transposed, for each input."""
    _warn_private("get_numerical_jacobian", grad_out)
    tensors = _tuple(inputs)
    problem = _Problem(lambda *xs: fn(tuple(xs)), tensors, eps, 0.0, 0.0, 0.0)
    targets = problem.differentiated if target is None else list(_tuple(target))
    return tuple(_numerical_jacobian(problem, x)[0][0] for x in targets)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[Any, bool, bool, bool]:
    """(the Jacobian of the output, transposed, for each input; whether two backwards agree; whether the shapes and
    whether the dtypes are those of the inputs)."""
    _warn_private("get_analytical_jacobian", grad_out)
    problem = _Problem(lambda *_: output, inputs, 1e-6, 0.0, 0.0, nondet_tol)
    first, again = (_analytical_rows(problem, output, 1) for _ in range(2))
    pairs = list(zip(first, again, strict=True))
    same = all(float((a - b).abs().max()) <= nondet_tol for a, b in pairs if a is not None and a.numel())
    return tuple(a.transpose(0, 1) for a in first if a is not None), same, True, True


def _warn_private(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. It is deprecated: use gradcheck.",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0, got {grad_out}: `{name}` no longer scales by it")


def _check_all(problem: _Problem, fast: bool, undefined: bool, dtypes: bool) -> None:
    if not any(y.requires_grad for y in problem.outputs()):
        return _check_constant(problem)
    (_check_fast if fast else _check_slow)(problem)
    _check_deterministic(problem)
    _check_shapes(problem, dtypes)
    if undefined:
        _check_undefined(problem)


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compares the gradients of the gradients of `func` with central differences.

    Args:
        grad_outputs: the vectors of the first derivative. Default: random ones.
        gen_non_contig_grad_outputs: make the random vectors non-contiguous.
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the inputs, a tensor or a tuple, of double precision.
        eps: the step of the differences.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
        raise_exception: whether a mismatch raises instead of returning False.
        nondet_tol: the largest difference between two runs of the backward.
        check_undefined_grad: whether missing gradients of outputs must count as zeros.
        check_grad_dtypes: whether gradients must have the dtypes of their inputs.
        check_batched_grad: whether gradients of batches of vectors are compared too.
        check_fwd_over_rev: whether forward over reverse mode is compared.
        check_rev_over_rev: whether reverse over reverse mode is compared.
        fast_mode: whether one random direction is compared instead of all.
        masked: whether only the stored elements of sparse inputs are moved.

    The other arguments are those of `gradcheck`.

    Example:
        >>> import tl_core
        >>> x = tl_core.tensor([0.5, 2.0], dtype=tl_core.float64, requires_grad=True)
        >>> gradgradcheck(lambda x: x**3, x)
        True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    inputs = _tuple(inputs)
    vectors = (
        _tuple(grad_outputs)
        if grad_outputs is not None
        else _random_vectors(func, inputs, gen_non_contig_grad_outputs)
    )
    first = _gradient_function(func, [isinstance(x, Tensor) and x.requires_grad for x in inputs])
    return gradcheck(
        first,
        (*inputs, *vectors),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_vectors(func: Callable, inputs: tuple, strided: bool) -> tuple[Tensor, ...]:
    vectors = []
    for y in _tuple(func(*inputs)):
        if not (_inexact(y) and y.requires_grad):
            continue
        v = tl_core.rand(y.shape, dtype=tl_core.float64).to(y.dtype) + 0.5
        if strided and v.dim():
            v = tl_core.stack([v, v], -1).select(-1, 0)
        vectors.append(v.requires_grad_())
    return tuple(vectors)


def _gradient_function(func: Callable, varies: list[bool]) -> Callable:
    n = len(varies)

    def first(*args: Tensor) -> tuple[Tensor, ...]:
        # The forward check passes tensors outside of any graph.
        inputs = [x.requires_grad_() if v and not x.requires_grad else x for x, v in zip(args, varies)]
        vectors = args[n:]
        outputs = [y for y in _tuple(func(*inputs)) if _inexact(y) and y.requires_grad]
        targets = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
        gradients = grad(outputs, targets, vectors, create_graph=True, allow_unused=True)
        return tuple(g for g in gradients if g is not None)

    return first
