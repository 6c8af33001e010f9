"""Sizes in traces of other kinds: make_fx, hints, dimensions derived from others, branches, loops, files."""

from __future__ import annotations

import io
from typing import Any

import pytest
from sizes import Program, same, used
from test_export_sizes import JOINS, NUMBERS, REDUCTIONS, VIEWS, WINDOWS, image, matrix

import tl_core as tl
from tl_autograd import grad
from tl_compiler.export import Dim, export, load, save
from tl_compiler.fx.experimental.proxy_tensor import make_fx
from tl_compiler.higher_order.cond import cond
from tl_compiler.higher_order.while_loop import while_loop
from tl_compiler.symbolic.errors import UserError

SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 12, 31)
PROGRAMS = {**VIEWS, **JOINS, **REDUCTIONS, **NUMBERS}


def guarded(traced: Any, example: Any, args: Any) -> bool:
    """Whether the guards of a trace hold for arguments."""
    values = [n.meta["val"] for n in traced.graph.nodes if n.op == "placeholder"]
    return all(bool(g.expr.evaluate(dict(_bound(values, args)))) for g in traced.shape_env.guards) and all(
        traced.shape_env.var_to_range[s].lower <= n for s, n in _bound(values, args)
    )


def raises(program: Any, size: int) -> bool:
    try:
        program(*matrix(size))
    except RuntimeError:
        return True
    return False


def _bound(values: Any, args: Any) -> list[Any]:
    return [
        (n.node._expr, int(size))
        for value, arg in zip(values, args, strict=True)
        for n, size in zip(value.shape, arg.shape, strict=True)
        if hasattr(n, "node") and n.node._expr.is_symbol
    ]


@pytest.mark.parametrize("pre_dispatch", (False, True))
@pytest.mark.parametrize("name", PROGRAMS)
def test_make_fx(name: str, pre_dispatch: bool) -> None:
    """The graph is right wherever its guards hold."""

    def program(x: Any) -> Any:
        z = PROGRAMS[name](x)
        return z, z + tl.zeros(z.shape, dtype=z.dtype)

    try:
        program(*matrix(8))
        traced = make_fx(program, tracing_mode="symbolic", pre_dispatch=pre_dispatch)(*matrix(8))
    except RuntimeError:
        return  # refused: the operators, or a number that is no expression, depend on the sizes
    checked = 0
    for size in SIZES:
        if guarded(traced, matrix(8), matrix(size)) and not raises(program, size):
            same(traced(*matrix(size)), program(*matrix(size)), f"at {size}")
            checked += 1
    assert checked, "no size but the example's"


GRADIENTS = {
    "mean of the first": lambda x: x[:5].mean(),
    "sum of a matrix": lambda x: (x @ x.t()).tril().sum(),
    "pool": lambda x: tl.max_pool1d(x.t()[None], 2).sum(),
    "cut": lambda x: x[1:-1].softmax(0).pow(2).sum(),
    "cat": lambda x: tl.cat([x, x[:2]]).sum(0).prod(),
    "scaled": lambda x: (x * x).sum() / x.shape[0],
    "norm": lambda x: x.std(0).sum() + x.logsumexp(0).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_make_fx_of_gradients(name: str) -> None:
    def program(x: Any) -> Any:
        y = x.detach().requires_grad_()
        return grad(GRADIENTS[name](y), y)[0]

    traced = make_fx(program, tracing_mode="symbolic")(*matrix(8))
    sizes = [n for n in SIZES if guarded(traced, matrix(8), matrix(n))]
    assert len(sizes) > 4
    for size in sizes:
        same(traced(*matrix(size)), program(*matrix(size)), f"at {size}")


@pytest.mark.parametrize("hint", ("AUTO", "DYNAMIC"))
@pytest.mark.parametrize("name", {**PROGRAMS, **WINDOWS})
def test_hints(name: str, hint: str) -> None:
    """A hint takes the range that the program has; the program is right in all of it."""
    inputs = image if name in WINDOWS else matrix
    of = WINDOWS.get(name) or PROGRAMS[name]
    module = Program(lambda x: used(of(x)))
    try:
        module(*inputs(8))
        texts = ({(2 if inputs is image else 0): getattr(Dim, hint)},)
        program = export(module, inputs(8), dynamic_shapes={"args": texts})
    except RuntimeError:
        pytest.skip("raises at the example's size")
    except UserError as error:
        assert hint == "DYNAMIC"
        assert "specialized" in str(error) or "generated guard" in str(error)
        return
    run = program.module()
    right = 0
    for size in SIZES:
        try:
            actual = run(*inputs(size))
        except RuntimeError:
            continue  # outside of the range, which the program checks
        same(actual, module(*inputs(size)), f"at {size}")
        right += 1
    assert right


def test_derived_dimensions() -> None:
    b = Dim("b", min=2, max=30)
    cases: list[Any] = [
        (lambda x, y: used(x[1:] + y), lambda n: (tl.ones(n + 1, 4), tl.ones(n, 4)), (b + 1, b)),
        (
            lambda x, y: used(x.reshape(-1, 2, 4).sum(1) * y),
            lambda n: (tl.ones(2 * n, 4), tl.ones(n, 4)),
            (2 * b, b),
        ),
        (
            lambda x, y: used(tl.cat([x, y])[: x.shape[0]] - x),
            lambda n: (tl.ones(n, 4), tl.ones(3 * n - 1, 4)),
            (b, 3 * b - 1),
        ),
        (lambda x, y: used(x[::2] + y), lambda n: (tl.ones(2 * n, 4), tl.ones(n, 4)), (2 * b, b)),
    ]
    for function, inputs, dims in cases:
        module = Program(function)
        program = export(module, inputs(5), dynamic_shapes={"args": tuple({0: d} for d in dims)})
        run = program.module()
        for size in range(2, 13):
            same(run(*inputs(size)), module(*inputs(size)), f"at {size}")
        with pytest.raises(RuntimeError):
            run(inputs(5)[0], inputs(6)[1])


def test_two_dimensions() -> None:
    """Sizes that are promised apart stay apart, at every pair of them."""
    a, b = Dim("a", min=2), Dim("b", min=2)
    cases: list[Any] = [
        lambda x, y: x @ y.t(),
        lambda x, y: tl.cat([x, y])[1:-1],
        lambda x, y: tl.cdist(x, y)[: x.shape[0] // 2],
        lambda x, y: x[:, None] + y[None],
        lambda x, y: tl.zeros(x.shape[0] + y.shape[0], min(3, 4)) + x.sum(),
        lambda x, y: x.new_full((x.shape[0], y.shape[0]), 1.0).tril(-1)[:, :5],
        lambda x, y: x.repeat(y.shape[0], 1),
        lambda x, y: x[: tl.symbolic.arithmetic.sym_min(x.shape[0], y.shape[0])],
        lambda x, y: tl.einsum("ik,jk->ij", x, y).flatten(),
        lambda x, y: x.expand(y.shape[0], -1, -1).transpose(0, 1),
    ]
    for function in cases:
        module = Program(lambda x, y, f=function: used(f(x, y)))
        program = export(module, (tl.ones(5, 4), tl.ones(7, 4)), dynamic_shapes={"args": ({0: a}, {0: b})})
        run = program.module()
        for n, m in ((2, 2), (2, 9), (9, 2), (3, 4), (7, 5), (12, 12)):
            arguments = tl.arange(n * 4.0).reshape(n, 4), tl.arange(m * 4.0).reshape(m, 4)
            same(run(*arguments), module(*arguments), f"at {n}, {m}")


@pytest.mark.filterwarnings("ignore:Pred is a Python constant")
def test_branches_and_loops() -> None:
    def branch(x: Any) -> Any:
        return cond(
            x.sum() > 0,
            lambda y: y[:5].sum(0) / y[:5].shape[0],
            lambda y: y[-3:].sum(0) / y[-3:].shape[0],
            (x,),
        )

    def branch_on_size(x: Any) -> Any:
        return cond(x.shape[0] > 6, lambda y: y * 2, lambda y: y * 3, (x,))

    def loop(x: Any) -> Any:
        def more(i: Any, y: Any) -> Any:
            return i < 3

        def step(i: Any, y: Any) -> Any:
            return i + 1, y + y[:4].sum() / y[:4].shape[0]

        return while_loop(more, step, (tl.tensor(0), x))[1]

    for function in (branch, branch_on_size, loop):
        for sign in (1, -1):
            module = Program(function)
            inputs = (tl.ones(8, 4) * sign,)
            run = export(module, inputs, dynamic_shapes={"args": ({0: Dim("b", min=2)},)}).module()
            for size in SIZES:
                arguments = (tl.arange(size * 4.0).reshape(size, 4) * sign,)
                same(run(*arguments), module(*arguments), f"{function.__name__} at {size}")


def test_sizes_below_two() -> None:
    """A branch that holds for the sizes of the trace only is checked where others are promised."""
    run = export(
        Program(lambda x: x * 2 if x.shape[0] > 1 else x * 3),
        (tl.ones(5, 4),),
        dynamic_shapes={"args": ({0: Dim("b")},)},
    ).module()
    assert run(tl.ones(2, 4))[0, 0] == 2
    with pytest.raises(RuntimeError, match="s0 > 1"):
        run(tl.ones(1, 4))
    run = export(
        Program(lambda x: used(x.sum(0) / x.shape[0])),
        (tl.ones(5, 4),),
        dynamic_shapes={"args": ({0: Dim("b")},)},
    ).module()
    assert run(tl.ones(1, 4))[0][0] == 1


@pytest.mark.parametrize("name", NUMBERS)
def test_files_and_core_operators(name: str) -> None:
    """What is saved and loaded, and what runs in core operators, is right where the program is."""
    module = Program(lambda x: used(NUMBERS[name](x)))
    program = export(module, matrix(8), dynamic_shapes={"args": ({0: Dim.AUTO},)})
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    for other in (load(file), program.run_decompositions()):
        run = other.module()
        for size in SIZES:
            try:
                actual = program.module()(*matrix(size))
            except RuntimeError:
                continue
            same(run(*matrix(size)), actual, f"at {size}")


def test_errors_name_the_range() -> None:
    cases: list[Any] = [
        (lambda x: x.select(0, 4), "b = Dim('b', min=5)"),
        (lambda x: x[3:7] + tl.ones(4, 4), "b = Dim('b', min=7)"),
        (lambda x: x[-3:] * tl.ones(3, 1), "b = Dim('b', min=3)"),
        (lambda x: x.chunk(3), "b = Dim('b', min=5)"),
        (lambda x: x.split(4), "b = Dim('b', min=5, max=8)"),
        (lambda x: tl.arange(16.0)[: x.shape[0]] + x[:, 0], "b = Dim('b', max=16)"),
        (lambda x: x.unfold(0, 3, 1), "b = Dim('b', min=3)"),
        (lambda x: tl.max_pool1d(x.t(), 4), "b = Dim('b', min=4)"),
        (lambda x: x.reshape(2, -1, 4), "b = 2*_b"),
        (lambda x: x.topk(6, 0), "b = Dim('b', min=6)"),
    ]
    for function, fix in cases:
        with pytest.raises(UserError) as error:
            export(Program(function), matrix(8), dynamic_shapes={"args": ({0: Dim("b", min=2)},)})
        assert f"Suggested fixes:\n  {fix}\n" in str(error.value), error.value
        assert "test_traced_sizes.py" in str(error.value) or "2*_b" in fix, error.value
