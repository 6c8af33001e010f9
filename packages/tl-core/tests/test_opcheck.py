"""opcheck: operators that are not what their registrations say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import tl_core as tl
from tl_core import library
from tl_core.library import Library, custom_op, opcheck
from tl_core.library.operator_checks import OpCheckError

NS = "_test_opcheck"


@pytest.fixture
def lib() -> Iterator[Library]:
    result = Library(NS, "FRAGMENT")
    yield result
    result._destroy()


def fails(op: Any, args: tuple, what: str, test: str) -> None:
    with pytest.raises(OpCheckError, match=re.escape(what)):
        opcheck(op, args)
    result = opcheck(op, args, raise_exception=False)
    assert isinstance(result[test], Exception) and what in str(result[test])


def test_what_is_right_passes() -> None:
    @custom_op(f"{NS}::right", mutates_args={"out"})
    def right(x: tl.Tensor, out: tl.Tensor, k: float = 2.0) -> tl.Tensor:
        out.copy_(x * k)
        return x + k

    right.register_fake(lambda x, out, k=2.0: tl.empty_like(x))
    result = opcheck(right, (tl.ones(3), tl.zeros(3)), {"k": 3.0})
    assert result == dict.fromkeys(library.operator_checks.CHECKS, "SUCCESS")
    opcheck(right._opoverload, (tl.ones(3), tl.zeros(3)))
    opcheck(getattr(tl.ops, NS).right, (tl.ones(3), tl.zeros(3)))
    opcheck(tl.ops.aten.add, (tl.ones(3), 1))


def test_writes_that_the_schema_does_not_say(lib: Library) -> None:
    lib.define("f(Tensor x, Tensor[] ys) -> Tensor")
    lib.impl("f", lambda x, ys: ys[1].zero_() + x, "CompositeExplicitAutograd")
    op = getattr(tl.ops, NS).f
    fails(
        op,
        (tl.ones(2), [tl.ones(2), tl.ones(2)]),
        "Argument ys is not defined as mutable but was mutated",
        "test_schema",
    )


def test_views_that_the_schema_does_not_say(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.view(-1), "CompositeExplicitAutograd")
    lib.define("g(Tensor x) -> (Tensor, Tensor)")
    lib.impl("g", lambda x: (x.clone(),) * 2, "CompositeExplicitAutograd")
    op = getattr(tl.ops, NS)
    fails(op.f, (tl.ones(2, 2),), "Argument x is not defined to alias output but was aliasing", "test_schema")
    fails(op.g, (tl.ones(2),), "Outputs 0 and 1 alias unexpectedly", "test_schema")
    lib.define("h(Tensor(a) x) -> Tensor(a)")
    lib.impl("h", lambda x: x.view(-1), "CompositeExplicitAutograd")
    opcheck(op.h, (tl.ones(2),), test_utils="test_schema")
    fails(op.h, (tl.ones(2),), "We only support functionalizing operators", "test_aot_dispatch_dynamic")


@pytest.mark.parametrize(
    ("fake", "what"),
    [
        (lambda x: x.new_empty(2), "Shapes torch.Size([2]) and torch.Size([3]) are not equal"),
        (lambda x: x.new_empty(3, dtype=tl.int64), "Dtypes torch.int64 and torch.float32 are not equal"),
    ],
)
def test_fakes_that_lie(fake: Any, what: str) -> None:
    @custom_op(f"{NS}::faked", mutates_args=())
    def faked(x: tl.Tensor) -> tl.Tensor:
        return x.clone()

    faked.register_fake(fake)
    fails(faked, (tl.ones(3),), what, "test_faketensor")


def test_strides_of_fakes() -> None:
    @custom_op(f"{NS}::strided", mutates_args=())
    def strided(x: tl.Tensor) -> tl.Tensor:
        return x.t().clone()

    strided.register_fake(lambda x: x.new_empty(x.shape[1], x.shape[0]))
    fails(strided, (tl.ones(2, 3),), "Strides (2, 1) and (1, 3) are not equal", "test_faketensor")


def test_without_a_fake(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.clone(), "CPU")
    fails(getattr(tl.ops, NS).f, (tl.ones(2),), f"{NS}.f.default: there is no fake impl", "test_faketensor")


def test_results_that_depend_on_something_else(lib: Library) -> None:
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return x + len(calls)

    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", counted, "CompositeExplicitAutograd")
    fails(
        getattr(tl.ops, NS).f, (tl.ones(2),), "eager-mode PyTorch vs AOTAutograd", "test_aot_dispatch_dynamic"
    )


def test_misuse() -> None:
    with pytest.raises(ValueError, match="op must be instance of"):
        opcheck(lambda x: x, (1,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="subset"):
        opcheck(tl.ops.aten.sin, (tl.ones(1),), test_utils="test_nothing")
    with pytest.raises(ValueError, match="must both be given"):
        opcheck(tl.ops.aten.sin, (tl.ones(1),), atol=1.0)
