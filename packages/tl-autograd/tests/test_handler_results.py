"""What `__torch_dispatch__` may return or raise while gradients are recorded: an answer or an error, nothing else."""

import pytest

import tl_autograd  # noqa: F401 - tensors that require gradients need it
import tl_core as tl
from tl_core import Tensor
from tl_core.operators.packets import aten
from tl_core.subclasses.python_dispatch import TorchDispatchMode


class Failure(Exception):
    """Of a handler."""


class Handled(Tensor):
    """Each call is answered by `answer`."""

    answer = None

    @staticmethod
    def __new__(cls, data, requires_grad=False):
        return tl.Tensor._make_subclass(cls, data, requires_grad)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return cls.answer(func, args)


class Wrapper(Tensor):
    """The same without memory of its own, and with attributes."""

    answer = None

    @staticmethod
    def __new__(cls, data, requires_grad=False):
        return tl.Tensor._make_wrapper_subclass(
            cls, data.shape, dtype=data.dtype, requires_grad=requires_grad
        )

    def __init__(self, data, requires_grad=False):
        self.data_ = data
        self.note = "kept"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return cls.answer(func, args)


class Other(Tensor):
    """Of a class whose handler leaves calls as they are."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return super().__torch_dispatch__(func, types, args, kwargs or {})


class Mode(TorchDispatchMode):
    def __init__(self, answer):
        self.answer = answer

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.answer(func, args)


def first(args):
    """The first tensor of the arguments."""
    for a in args:
        if isinstance(a, Tensor):
            return a
        if isinstance(a, (list, tuple)) and a and isinstance(a[0], Tensor):
            return a[0]
    return tl.ones(4)


def fail(exception):
    def answer(func, args, make):
        raise exception

    return answer


LEAF = tl.ones(4, requires_grad=True)
RESULT = LEAF * 2
ANSWERS = {
    "a leaf": lambda func, args, make: LEAF,
    "a result": lambda func, args, make: RESULT,
    "a view": lambda func, args, make: LEAF.detach().requires_grad_()[:2],
    "a fresh leaf": lambda func, args, make: tl.ones(4, requires_grad=True),
    "a fresh leaf of the class": lambda func, args, make: make(tl.ones(4), True),
    "a constant of the class": lambda func, args, make: make(tl.ones(4)),
    "the argument": lambda func, args, make: first(args),
    "the argument twice": lambda func, args, make: [first(args), first(args)],
    "leaves": lambda func, args, make: [LEAF, LEAF],
    "leaves of the class": lambda func, args, make: (make(tl.ones(4), True), make(tl.ones(4), True)),
    "five results": lambda func, args, make: tuple(tl.ones(4, requires_grad=True) for _ in range(5)),
    "nothing in a list": lambda func, args, make: [],
    "None in a list": lambda func, args, make: [None, None],
    "a nested list": lambda func, args, make: [[LEAF], (LEAF,)],
    "of another class": lambda func, args, make: tl.ones(4).as_subclass(Other).requires_grad_(),
    "of another type": lambda func, args, make: tl.ones(4, dtype=tl.int64),
    "of another shape": lambda func, args, make: tl.ones(2, 3, requires_grad=True),
    "without memory": lambda func, args, make: tl.ones(4, device="meta", requires_grad=True),
    "sparse": lambda func, args, make: tl.ones(4).to_sparse().requires_grad_(),
    "complex": lambda func, args, make: tl.ones(4, dtype=tl.complex64, requires_grad=True),
    "None": lambda func, args, make: None,
    "NotImplemented": lambda func, args, make: NotImplemented,
    "a number": lambda func, args, make: 3,
    "a large number": lambda func, args, make: 1 << 80,
    "a text": lambda func, args, make: "text",
    "a class": lambda func, args, make: Tensor,
    "a mapping": lambda func, args, make: {"a": LEAF},
    "a generator": lambda func, args, make: (LEAF for _ in range(2)),
    "an error": fail(ValueError("of the handler")),
    "an error of its own": fail(Failure()),
    "the end": fail(StopIteration()),
}
CALLS = {
    "a function": lambda x: x * 2,
    "of two arguments": lambda x: tl.add(x, x),
    "a reduction": lambda x: x.sum(),
    "two results": lambda x: x.max(0),
    "two differentiable results": lambda x: tl.var_mean(x),
    "a list": lambda x: x.split(2),
    "of a list": lambda x: tl.cat([x, x]),
    "a list of a list": lambda x: tl._foreach_mul([x, x], 2.0),
    "a view": lambda x: x.view(2, 2),
    "detached": lambda x: x.detach(),
    "a copy": lambda x: x.clone(),
    "written": lambda x: aten.mul_(x.detach(), 2),
    "a written result": lambda x: (x * 1).mul_(2),
    "out": lambda x: tl.mul(x.detach(), 2, out=tl.ones(4)),
    "a number": lambda x: x.sum().item(),
    "a truth value": lambda x: bool(tl.equal(x, x)),
    "converted": lambda x: x.to(tl.float64),
    "made": lambda x: tl.zeros_like(x),
}


def use(result):
    """Everything that a program does with a result."""
    for r in result if isinstance(result, (list, tuple)) else [result]:
        if not isinstance(r, Tensor):
            continue
        assert isinstance(r.requires_grad, bool) and isinstance(tuple(r.shape), tuple)
        assert r.grad_fn is None or isinstance(r.grad_fn.name(), str)
        if r.requires_grad and r.layout is tl.strided:
            r.backward(tl.ones(r.shape, dtype=r.dtype, device=r.device))
        type(r).__name__, r._version, r.is_leaf, r._base


def answered(kind, name, call):
    """The call with an object of the kind, whose handler gives the answer of the name."""
    make = {"class": Handled, "wrapper": Wrapper}.get(
        kind, lambda data, requires_grad=False: data.requires_grad_(requires_grad)
    )
    answer = ANSWERS[name]
    x = make(tl.ones(4), True)

    def handler(func, args):
        return answer(func, args, make)

    Handled.answer = Wrapper.answer = staticmethod(handler)
    if kind == "mode":
        with Mode(handler):
            result = call(x)
    else:
        result = call(x)
    return x, result


@pytest.mark.parametrize("kind", ["class", "wrapper", "mode"])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_or_an_error(kind, name):
    for call in CALLS.values():
        try:
            _, result = answered(kind, name, call)
            Handled.answer = Wrapper.answer = staticmethod(lambda func, args: tl.ones(4))
            use(result)
        except Exception as e:
            assert not isinstance(e, (SystemError, MemoryError, RecursionError)), (name, e)
        assert LEAF.is_leaf and LEAF.requires_grad and LEAF.grad_fn is None
        assert RESULT.grad_fn.name() == "MulBackward0"


@pytest.mark.parametrize("kind", ["class", "wrapper", "mode"])
@pytest.mark.parametrize(
    "name",
    ["a leaf", "a result", "a fresh leaf", "a fresh leaf of the class", "the argument", "of another class"],
)
def test_a_result_is_the_operators_own(kind, name):
    x, y = answered(kind, name, lambda x: x * 2)
    assert x.is_leaf and x.requires_grad and x.grad_fn is None
    assert y is not x and y.requires_grad and y.grad_fn.name() == "MulBackward0"
    assert y.grad_fn.next_functions[0][0].variable is x
    if kind == "wrapper" and "class" in name and "another" not in name:
        assert type(y) is Wrapper and y.note == "kept" and y.data_ is not None


@pytest.mark.parametrize("kind", ["class", "wrapper", "mode"])
@pytest.mark.parametrize("name", ["leaves", "leaves of the class", "the argument twice"])
def test_results_of_a_list_are_the_operators_own(kind, name, monkeypatch):
    def answer(func, args, make):
        return ANSWERS[name](func, args, make) if "split" in func.name() else first(args)

    monkeypatch.setitem(ANSWERS, "now", answer)
    x, (y, z) = answered(kind, "now", lambda x: x.split(2))
    assert x.is_leaf and x.requires_grad
    assert all(r is not x and r.requires_grad and not r.is_leaf for r in (y, z))
    assert LEAF.is_leaf and y is not z


@pytest.mark.parametrize(
    "error", [ValueError, Failure, StopIteration, KeyError, RecursionError, KeyboardInterrupt]
)
@pytest.mark.parametrize("kind", ["class", "wrapper", "mode"])
def test_an_error_of_the_handler_comes_through(kind, error, monkeypatch):
    def answer(func, args, make):
        raise error("of the handler")

    monkeypatch.setitem(ANSWERS, "now", answer)
    for call in CALLS.values():
        with pytest.raises(error):
            answered(kind, "now", call)


def test_handlers_within_handlers():
    """A mode within a mode: it answers itself, or asks the one below."""
    records = []

    def below(func, args):
        records.append("below")
        return tl.ones(4, requires_grad=True)

    x = tl.ones(4, requires_grad=True)
    for answer in (LEAF, None, 3):
        with Mode(below), Mode(lambda func, args, a=answer: func(*args) if a is None else a):
            if answer is not None and answer is not LEAF:
                with pytest.raises(RuntimeError, match="Unable to cast int"):
                    x * 2
                continue
            y = x * 2
        assert y.grad_fn.next_functions[0][0].variable is x
    assert records == ["below"]
