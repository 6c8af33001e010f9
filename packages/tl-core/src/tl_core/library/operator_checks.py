"""`opcheck`: whether an operator is what its registrations say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tl_core import _C, Tensor
from tl_core.base import backend_registry, operator_hooks
from tl_core.dispatch import registrations
from tl_core.dispatch.queries import has_kernel
from tl_core.dispatch.registrations import Registration, fallthrough_kernel
from tl_core.library.custom_ops import CustomOpDef
from tl_core.operators import packets as ops
from tl_core.pytree import tree_leaves, tree_map
from tl_core.schemas.signatures import filled
from tl_core.subclasses import FakeTensorMode
from tl_core.subclasses.fake_exceptions import UnsupportedOperatorException
from tl_core.symbolic.numbers import SymInt

__all__ = [
    "OpCheckError",
    "aot_dispatch_check",
    "autograd_registration_check",
    "fake_check",
    "opcheck",
    "schema_check",
]


class OpCheckError(Exception):
    """A test of `opcheck` failed."""


def _copy_of(x: Any) -> Any:
    if not isinstance(x, Tensor):
        return x
    copy = x.detach().clone()
    return copy.requires_grad_(True) if x.requires_grad else copy


def _copies(args: Any, kwargs: Any) -> tuple[tuple, dict[str, Any]]:
    """Arguments of their own for a call that may write them."""
    positional, named = tree_map(_copy_of, (tuple(args), dict(kwargs)))
    return positional, named


def _tensors(tree: Any) -> list[Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]


def _by_argument(op: Any, args: tuple, kwargs: dict[str, Any]) -> list[tuple[Any, list[Tensor]]]:
    """Each argument of the schema with its tensors."""
    schema = op._schema
    values, named = filled(schema, args, kwargs)
    all_values = [*values, *(named[a.name] for a in schema.arguments[len(values) :])]
    return [(a, _tensors(v)) for a, v in zip(schema.arguments, all_values, strict=True)]


# ---- writes and views -----------------------------------------------------------------------------------------------
def schema_check(op: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raises RuntimeError where a call writes arguments, or returns views of them, of which the schema says nothing.

    Args:
        op: the operator.
        args: arguments of a call.
        kwargs: those by keyword.
    """
    args, kwargs = _copies(args, kwargs)
    arguments = _by_argument(op, args, kwargs)
    before = [[t.detach().clone() for t in tensors] for _, tensors in arguments]
    result = op(*args, **kwargs)
    for (argument, tensors), old in zip(arguments, before, strict=True):
        if not argument.is_write and any(not _same_bits(t, o) for t, o in zip(tensors, old, strict=True)):
            raise RuntimeError(
                f"Argument {argument.name} is not defined as mutable but was mutated: the schema {op._schema} must "
                f"mark "
                "what the operator writes, as in Tensor(a!)"
            )
    _check_views(op, arguments, result)


def _same_bits(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    same = a.detach().eq(b) | (a.detach().ne(a.detach()) & b.ne(b))
    return bool(same.all())


def _share(a: Tensor, b: Tensor) -> bool:
    if a.layout != b.layout or "sparse" in str(a.layout) or a.is_meta or a.numel() == 0:
        return False
    return _C._is_alias_of(a, b)


def _check_views(op: Any, arguments: list[tuple[Any, list[Tensor]]], result: Any) -> None:
    schema = op._schema
    results = result if isinstance(result, tuple) and len(schema.returns) > 1 else (result,)
    outputs = list(zip(schema.returns, map(_tensors, results), strict=False))
    for i, (info, output) in enumerate(outputs):
        allowed = info.alias_info.before_set if info.alias_info else set()
        for argument, tensors in arguments:
            own = argument.alias_info.before_set if argument.alias_info else set()
            if not own & allowed and any(_share(t, o) for t in tensors for o in output):
                raise RuntimeError(
                    f"Argument {argument.name} is not defined to alias output but was aliasing: the schema {schema} "
                    f"says "
                    f"that result {i} is new memory; return a clone of it"
                )
        for j in range(i):
            if any(_share(t, o) for t in outputs[j][1] for o in output):
                raise RuntimeError(f"Outputs {j} and {i} alias unexpectedly: return a clone of one of them")


# ---- gradients ------------------------------------------------------------------------------------------------------
def autograd_registration_check(op: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raises AssertionError where results have gradients that no registration for autograd made.

    Args:
        op: the operator.
        args: arguments of a call, of which some require gradients.
        kwargs: those by keyword.
    """
    if not any(t.requires_grad for t in _tensors((args, kwargs))):
        raise RuntimeError(
            "autograd_registration_check: no inputs have requires_grad=True so we are unable to actually perform this "
            "test. Please pass inputs that do require grad."
        )
    name = op._native_name
    if any(has_kernel(name, key) for key in ("Autograd", "AutogradCPU", "CompositeImplicitAutograd")):
        return
    passing = registrations.put(Registration(name, "Autograd", fallthrough_kernel))
    try:
        results = op(*args, **kwargs)
    finally:
        registrations.withdraw(passing)
    inputs = {id(t) for t in _tensors((args, kwargs))}
    if any(t.requires_grad for t in _tensors(results) if id(t) not in inputs):
        raise AssertionError(
            f"{op.name()}: at least one output of this operator has requires_grad=True but the operator does not have "
            f"an "
            "autograd kernel defined at an autograd key (e.g. DispatchKey::Autograd). You may have incorrectly "
            "registered "
            "an autograd kernel to another key, which gives wrong gradients without an error. An operator that "
            "consists "
            "of others belongs to CompositeImplicitAutograd, an autograd.Function to Autograd."
        )


# ---- without elements -----------------------------------------------------------------------------------------------
def fake_check(op: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raises AssertionError where results on tensors without elements are not as the real ones.

    Args:
        op: the operator.
        args: arguments of a call.
        kwargs: those by keyword.
    """
    real_args, real_kwargs = _copies(args, kwargs)
    real = op(*real_args, **real_kwargs)
    mode = _fake_mode()

    def without_elements(x: Any) -> Any:
        return mode.from_tensor(x.detach(), static_shapes=True) if isinstance(x, Tensor) else x

    fake_args, fake_kwargs = tree_map(without_elements, (tuple(args), dict(kwargs)))
    try:
        with mode:
            fake = op(*fake_args, **fake_kwargs)
    except (NotImplementedError, UnsupportedOperatorException) as error:
        raise AssertionError(
            f"{op}: there is no fake impl (nor a Meta kernel) registered for this operator, which traces need. Use "
            f"torch.library.register_fake to add one: {error}"
        ) from error
    expected, actual = _tensors(real), _tensors(fake)
    if len(expected) != len(actual):
        raise AssertionError(
            f"{op}: the fake impl returned {len(actual)} tensors, the operator {len(expected)}"
        )
    for i, (r, f) in enumerate(zip(expected, actual, strict=True)):
        _check_metadata(f"{op}: output[{i}]", r, f)


def _fake_mode() -> Any:
    """A mode of fakes; where a tracer is loaded, sizes that elements decide are symbols in it."""
    backend_registry.load("tracer")
    has_symbols = "shape_env" in operator_hooks.makers
    return FakeTensorMode(shape_env=operator_hooks.maker("shape_env")() if has_symbols else None)


def _same_sizes(fake: Any, real: Any) -> bool:
    """Whether sizes or strides are equal, but for those that elements decide."""
    return len(fake) == len(real) and all(
        f == r for f, r in zip(fake, real, strict=True) if not isinstance(f, SymInt)
    )


def _check_metadata(what: str, real: Tensor, fake: Tensor) -> None:
    if not _same_sizes(fake.shape, real.shape):
        raise AssertionError(
            f"{what}: Shapes {fake.shape} and {real.shape} are not equal: the fake impl says the first"
        )
    if fake.dtype != real.dtype:
        raise AssertionError(
            f"{what}: Dtypes {fake.dtype} and {real.dtype} are not equal: the fake impl says the first"
        )
    if fake.layout != real.layout:
        raise AssertionError(f"{what}: Layouts {fake.layout} and {real.layout} are not equal")
    strided = real.numel() > 1 and "sparse" not in str(real.layout)
    steps = [(f, r) for f, r, n in zip(fake.stride(), real.stride(), real.shape, strict=True) if n != 1]
    if strided and not _same_sizes([f for f, _ in steps], [r for _, r in steps]):
        raise AssertionError(
            f"{what}: Strides {fake.stride()} and {real.stride()} are not equal: the fake impl says the first"
        )


# ---- graphs ---------------------------------------------------------------------------------------------------------
def aot_dispatch_check(
    op: Any, args: tuple, kwargs: dict[str, Any], rtol: float | None = None, atol: float | None = None
) -> None:
    """Raises where a graph of the call is not the call.

    What writes must be able to become what does not, fakes must be as the real results, and what the graphs of the
    call give must be what it gives: results, gradients, and what it has written. There are two graphs: of the call and
    its backward pass at the sizes of the arguments, and of the call at sizes that are symbols. Where no package with a
    tracer has been imported, a second call stands in for them.

    Args:
        op: the operator.
        args: arguments of a call.
        kwargs: those by keyword.
        rtol: the relative tolerance of the comparison.
        atol: the absolute one.
    """
    _check_can_be_functional(op)
    fake_check(op, args, kwargs)
    expected = _compute(op, *_copies(args, kwargs))
    options: dict[str, Any] = {} if rtol is None else {"rtol": rtol, "atol": atol}
    for run in _runs(op, args, kwargs):
        _compare(expected, run(*_copies(args, kwargs)), options)


def _compare(expected: tuple[list, ...], actual: tuple[list, ...], options: dict[str, Any]) -> None:
    from tl_core.testing import assert_close

    for title, a, b in zip(("Outputs", "Gradients", "Written arguments"), expected, actual, strict=True):
        try:
            assert_close(a, b, equal_nan=True, **options)
        except AssertionError as error:
            raise AssertionError(
                f"{title} of the operator are different in two runs (eager-mode PyTorch vs AOTAutograd): does it "
                f"depend on something that its arguments do not say? {error}"
            ) from error


def _check_can_be_functional(op: Any) -> None:
    schema = op._schema
    if op.namespace != "aten" and any(r.alias_info for r in schema.returns):
        raise RuntimeError(
            "We only support functionalizing operators whose outputs do not have alias annotations (e.g. 'Tensor(a)' "
            "is a "
            f"Tensor with an alias annotation whereas 'Tensor' is a Tensor without). This operator's schema: {schema}"
        )


_Run = Callable[[tuple, dict[str, Any]], tuple[list, ...]]


def _runs(op: Any, args: tuple, kwargs: dict[str, Any]) -> list[_Run]:
    """Functions of arguments that compute what the call does in other ways."""
    backend_registry.load("tracer")
    if "make_fx" not in operator_hooks.makers:
        return [lambda args, kwargs: _compute(op, args, kwargs)]
    traced = operator_hooks.maker("make_fx")

    def compute(*args: Any, **kwargs: Any) -> tuple[list, ...]:
        return _compute(op, args, kwargs)

    static = traced(compute, *_copies(args, kwargs), dynamic=False)
    dynamic = traced(op, *_copies(args, kwargs), dynamic=True)
    return [
        lambda args, kwargs: static(*args, **kwargs),
        lambda args, kwargs: _compute(dynamic, args, kwargs),
    ]


def _compute(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> tuple[list, ...]:
    """The tensors that a call returns, the gradients of their sum, and its arguments as they are after it."""
    inputs = _tensors((args, kwargs))
    leaves = [t for t in inputs if t.requires_grad and t.grad_fn is None]
    outputs = _tensors(call(*args, **kwargs))
    differentiable = [t for t in outputs if t.requires_grad and (t.is_floating_point() or t.is_complex())]
    if leaves and differentiable:
        total = sum((t.abs() if t.is_complex() else t).sum() for t in differentiable)
        total.backward()  # type: ignore[union-attr]
    grads = [t.grad for t in leaves]
    return [t.detach() for t in outputs], [g for g in grads if g is not None], [t.detach() for t in inputs]


# ---- opcheck --------------------------------------------------------------------------------------------------------
def _check_gradients_are_registered(op: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    if any(t.requires_grad for t in _tensors((args, kwargs))):
        autograd_registration_check(op, *_copies(args, kwargs))


CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": schema_check,
    "test_autograd_registration": _check_gradients_are_registered,
    "test_faketensor": fake_check,
    "test_aot_dispatch_dynamic": aot_dispatch_check,
}
DEFAULT_TEST_UTILS = tuple(CHECKS)


def _overload_of(op: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, ops.OpOverloadPacket):
        from tl_core.dispatch.queries import resolve_packet

        return getattr(op, resolve_packet(op, *args, **kwargs))
    if isinstance(op, ops.OpOverload):
        return op
    raise ValueError(
        f"opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
        f"{type(op)}"
    )


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = DEFAULT_TEST_UTILS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Tests whether an operator does what was registered for it.

    `test_schema`: it writes and shares what its schema says. `test_autograd_registration`: its gradients come from
    where autograd looks for them. `test_faketensor`: on tensors without elements, results have the sizes, strides and
    types of the real ones. `test_aot_dispatch_dynamic`: a second call, or the call's graph, gives the same results and
    gradients. Whether gradients are right is what `autograd.gradcheck` tests.

    Args:
        op: what `custom_op` made, or an operator of `ops`.
        args: the arguments of a call.
        kwargs: those by keyword.
        test_utils: the tests' names, one or several.
        raise_exception: whether the first test that fails raises; otherwise the result has what each said.
        atol: the absolute tolerance for results and gradients; with `rtol`.
        rtol: the relative one.

    Returns:
        "SUCCESS" by the test's name, or the error.

    Raises:
        OpCheckError: a test failed.
        ValueError: `op` is no operator, or a test's name is none.

    Example:
        >>> import tl_core as tl
        >>> @tl.library.custom_op("checked::halved", mutates_args=())
        ... def halved(x: tl.Tensor) -> tl.Tensor:
        ...     return x / 2
        >>> halved.register_fake(tl.empty_like) is tl.empty_like
        True
        >>> sorted(opcheck(halved, (tl.ones(3),)))[0]
        'test_aot_dispatch_dynamic'
        >>> @tl.library.custom_op("checked::liar", mutates_args=())
        ... def liar(x: tl.Tensor) -> tl.Tensor:
        ...     return x.zero_() + 1
        >>> opcheck(liar, (tl.ones(3),), test_utils="test_schema")
        Traceback (most recent call last):
        tl_core.library.operator_checks.OpCheckError: opcheck(op, ...): test_schema failed with Argument x is not ...
    """
    if (atol is None) != (rtol is None):
        raise ValueError(
            f"opcheck(op, ...): atol and rtol must both be given or neither, got atol={atol}, rtol={rtol}"
        )
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(names) <= set(CHECKS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={names}), expected test_utils to be a subset of {DEFAULT_TEST_UTILS} but it "
            f"was "
            "not"
        )
    args, kwargs = tuple(args), kwargs or {}
    op = _overload_of(op, args, kwargs)
    results: dict[str, Any] = {}
    for name in names:
        options = {"atol": atol, "rtol": rtol} if name == "test_aot_dispatch_dynamic" else {}
        try:
            CHECKS[name](op, args, kwargs, **options)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results
