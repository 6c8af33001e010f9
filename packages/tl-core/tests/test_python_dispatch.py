"""`__torch_dispatch__`: handlers of modes and classes, and the stack of modes."""

import gc
import threading
from typing import ClassVar

import pytest

import tl_core as tl
from tl_core import _C
from tl_core.operators.packets import aten
from tl_core.subclasses.python_dispatch import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
    TorchDispatchModeKey,
    _disable_current_modes,
    _disable_infra_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    _pop_mode,
    _pop_mode_temporarily,
    _push_mode,
    is_in_torch_dispatch_mode,
    no_dispatch,
)
from tl_core.symbolic import numbers


class Seen(TorchDispatchMode):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((func, types, args, kwargs))
        return func(*args, **kwargs)

    @property
    def names(self):
        return [str(func.__name__) for func, *_ in self.calls]


class Labelled(tl.Tensor):
    log: ClassVar[list] = []

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.log.append((cls, func, types))
        return super().__torch_dispatch__(func, types, args, kwargs)


class MoreLabelled(Labelled):
    pass


@pytest.fixture(autouse=True)
def clean_stack():
    Labelled.log.clear()
    yield
    assert _get_current_dispatch_mode_stack() == []
    assert _C._mode_stack(_C._LAYER_TRACE) == []


# ---- what a handler gets
HERE = {"device": tl.device("cpu"), "pin_memory": False}  # what factories are told where nobody says it


@pytest.mark.parametrize(
    ("call", "func", "args", "kwargs"),
    [
        (lambda x: x + 1, aten.add.Tensor, ("x", 1), {}),
        (lambda x: 2 * x, aten.mul.Tensor, ("x", 2), {}),
        (lambda x: tl.add(x, x, alpha=3), aten.add.Tensor, ("x", "x"), {"alpha": 3}),
        (lambda x: x.sum(1, keepdim=True), None, ("x", [1], True), {}),
        (lambda x: x.sum(dtype=tl.float64), aten.sum.default, ("x",), {"dtype": tl.float64}),
        (lambda x: tl.cat([x, x]), aten.cat.default, (["x", "x"],), {}),
        (lambda x: tl.cat([x, x], 1), aten.cat.default, (["x", "x"], 1), {}),
        (lambda x: x.view(-1), aten.view.default, ("x", [-1]), {}),
        (lambda x: x.index_fill(0, tl.tensor([0]), 1.5), None, None, {}),
        (lambda x: x.add_(1), aten.add_.Tensor, ("x", 1), {}),
        (lambda x: tl.zeros(2, 3), aten.zeros.default, ([2, 3],), HERE),
        (lambda x: tl.zeros(2, dtype=tl.int32), aten.zeros.default, ([2],), {"dtype": tl.int32, **HERE}),
        (lambda x: tl.ones_like(x), aten.ones_like.default, ("x",), {"pin_memory": False}),
        (lambda x: x.new_zeros(2), aten.new_zeros.default, ("x", [2]), {"pin_memory": False}),
        (lambda x: x.to(tl.float64), None, None, {"dtype": tl.float64}),
        (lambda x: tl.exp(x, out=x), aten.exp.out, ("x",), {"out": "x"}),
        (lambda x: x.clone(memory_format=tl.contiguous_format), aten.clone.default, ("x",), None),
        (lambda x: tl.rand(2, generator=tl.default_generator), None, ([2],), None),
        (lambda x: x * (1 + 2j), aten.mul.Tensor, ("x", 1 + 2j), {}),
        (lambda x: tl.div(x, 2, rounding_mode="floor"), None, ("x", 2), {"rounding_mode": "floor"}),
    ],
)
def test_arguments_are_what_a_caller_writes(call, func, args, kwargs):
    x = tl.ones(2, 3)
    with Seen() as records:
        call(x)
    got_func, types, got_args, got_kwargs = records.calls[-1]
    named = [a if a is not x else "x" for a in got_args]
    named = [["x" if i is x else i for i in a] if isinstance(a, list) else a for a in named]
    assert func is None or got_func is func
    assert types == ()
    assert args is None or tuple(named) == args
    if kwargs is not None:
        assert {k: "x" if v is x else v for k, v in got_kwargs.items()} == kwargs


def test_results_pass_through():
    x = tl.arange(6.0).view(2, 3)
    calls = [
        lambda: x.topk(2),
        lambda: x.split(1, 1),
        lambda: x.sum().item(),
        lambda: bool(x.sum() > 1),
        lambda: x.max(0),
        lambda: x.unbind(),
        lambda: tl.equal(x, x),
    ]
    for call in calls:
        expected = call()
        with BaseTorchDispatchMode():
            result = call()
        assert type(result) is type(expected)
        for g, e in zip(result, expected, strict=True) if isinstance(result, tuple) else [(result, expected)]:
            assert tl.equal(g, e) if isinstance(g, tl.Tensor) else g == e


def test_composites_have_been_taken_apart():
    x = tl.ones(2, 3)
    with Seen() as below:
        x.flatten()
    assert below.names and "flatten.using_ints" not in below.names


def test_the_layer_above_autograd_gets_them_whole():
    above = Seen()
    x = tl.ones(2, 3)
    _C._push_mode(_C._LAYER_TRACE, above)
    try:
        x.flatten()
    finally:
        assert _C._pop_mode(_C._LAYER_TRACE) is above
    assert above.names[0] == "flatten.using_ints"


# ---- results of handlers
class Returning(TorchDispatchMode):
    def __init__(self, made):
        super().__init__()
        self.made = made

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.made


def test_a_handler_decides_the_result():
    result = tl.full((4,), 7.0)
    with Returning(result):
        assert tl.ones(2) + 1 is result


@pytest.mark.parametrize(
    ("made", "call", "needed"),
    [
        (1, lambda x: x + 1, "a Tensor"),
        ("text", lambda x: x + 1, "a Tensor"),
        (tl.ones(1), lambda x: x.topk(1), "the tuple of all its results"),
        ((tl.ones(1),), lambda x: x.topk(1), "1 results where 2"),
        (tl.ones(1), lambda x: x.unbind(), "a list of Tensors"),
        ([1], lambda x: x.unbind(), "a Tensor"),
        (tl.ones(1), lambda x: x.item(), "a number"),
        (None, lambda x: x + 1, "a Tensor"),
        ((tl.ones(1), None), lambda x: x.topk(1), "a Tensor"),
    ],
)
def test_results_of_another_kind_are_refused(made, call, needed):
    x = tl.ones(3)[:1]
    with Returning(made), pytest.raises(RuntimeError, match=needed):
        call(x)


def test_writes_return_what_was_written():
    x, out = tl.ones(3), tl.zeros(3)
    with Returning(None):
        assert x.add_(1) is x
        assert tl.exp(x, out=out) is out


# ---- classes
def test_a_class_handles_its_tensors():
    x = tl.ones(3).as_subclass(Labelled)
    Labelled.log.clear()
    y = x + 1
    assert Labelled.log == [(Labelled, aten.add.Tensor, (Labelled,))]
    assert type(y) is tl.Tensor and y.tolist() == [2.0, 2.0, 2.0]


def test_a_class_with_a_handler_is_not_asked_above():
    class Both(Labelled):
        __torch_function__ = classmethod(tl.overrides._default_torch_function)

    class Neither(tl.Tensor):
        pass

    assert _C._disabled_torch_dispatch_impl is tl.Tensor.__torch_dispatch__
    one = tl.ones(1)
    assert type(one.as_subclass(Labelled) + 1) is tl.Tensor
    assert type(one.as_subclass(Both) + 1) is Both and type(one.as_subclass(Neither) + 1) is Neither


def test_making_objects_of_a_class_asks_no_mode():
    with Seen() as records:
        tl.ones(2).as_subclass(Labelled)
        tl.Tensor._make_subclass(Labelled, tl.ones(2))
    assert records.names == ["ones.default"] * 2


def test_subclasses_are_asked_before_their_bases():
    x, y = tl.ones(3).as_subclass(Labelled), tl.ones(3).as_subclass(MoreLabelled)
    Labelled.log.clear()
    tl.add(x, y)
    cls, _, types = Labelled.log[0]
    assert cls is MoreLabelled and types == (MoreLabelled, Labelled)


def test_all_decline():
    class Declines(tl.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = tl.ones(3).as_subclass(Declines)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.ops\.aten\.add'"):
        x + 1

    class AlsoDeclines(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with AlsoDeclines(), pytest.raises(TypeError, match="mode object"):
        x + 1
    with Returning(NotImplemented), pytest.raises(TypeError, match="mode object"):
        tl.ones(2) + 1


def test_a_mode_that_declines_leaves_the_call_to_the_class():
    class LeavesClasses(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented if types else func(*args, **kwargs)

    x = tl.ones(3).as_subclass(Labelled)
    Labelled.log.clear()
    with LeavesClasses():
        x + 1
    assert [f for _, f, _ in Labelled.log] == [aten.add.Tensor]


def test_no_dispatch():
    x = tl.ones(3).as_subclass(Labelled)
    Labelled.log.clear()
    with Seen() as records, no_dispatch():
        x + 1
    assert not records.calls and not Labelled.log


def test_a_class_without_handler_has_none():
    class Plain(tl.Tensor):
        pass

    assert not _C._has_torch_dispatch(Plain) and _C._has_torch_dispatch(Labelled)
    assert not _C._has_torch_dispatch(tl.Tensor) and not _C._has_torch_dispatch(3)


# ---- the stack
def test_nested_modes():
    with Seen() as outer, Seen() as inner:
        assert _get_current_dispatch_mode_stack() == [outer, inner]
        assert _get_current_dispatch_mode() is inner
        tl.ones(2)
    assert outer.names == inner.names == ["ones.default"]


def test_a_mode_is_off_in_its_handler():
    class Adds(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert self not in _get_current_dispatch_mode_stack()
            return func(*args, **kwargs) + 1

    with Adds():
        assert tl.zeros(2).tolist() == [1.0, 1.0]


def test_the_same_mode_twice():
    records = Seen()
    with records, records:
        tl.ones(2)
    assert records.names == ["ones.default"] * 2


class Failing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise LookupError("by design")


def test_exceptions_leave_the_stack_as_it_was():
    with Seen() as outer, Failing() as failing:
        with pytest.raises(LookupError, match="by design"):
            tl.ones(2)
        assert _get_current_dispatch_mode_stack() == [outer, failing]
    with Seen(), pytest.raises(RuntimeError):
        tl.ones(2) @ tl.ones(3)


def test_large_calls_run_their_handlers_with_the_lock():
    x = tl.ones(100_000)
    with Seen() as records:
        assert (x + 1).sum().item() == 200_000
    assert records.names == ["add.Tensor", "sum.default", "_local_scalar_dense.default"]
    with Failing(), pytest.raises(LookupError):
        x + 1


def test_modes_belong_to_a_thread():
    records = []

    def elsewhere():
        records.append(_get_current_dispatch_mode_stack())
        tl.ones(2)

    with Seen() as mode:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert records == [[]] and not mode.calls


def test_taking_modes_off():
    with Seen() as outer, Seen() as inner:
        with _pop_mode_temporarily() as popped:
            assert popped is inner
            tl.ones(2)
        with _disable_current_modes() as modes:
            assert modes == [outer, inner] and not is_in_torch_dispatch_mode()
            tl.ones(2)
        assert _get_current_dispatch_mode_stack() == [outer, inner]
    assert outer.names == ["ones.default"] and not inner.calls
    with pytest.raises(RuntimeError, match="no such mode"):
        _pop_mode()


class Infra(Seen):
    def __init__(self, key):
        super().__init__()
        self._mode_key = key


def test_the_modes_of_the_framework_stand_below():
    fake, proxy = Infra(TorchDispatchModeKey.FAKE), Infra(TorchDispatchModeKey.PROXY)
    with Seen() as mine, proxy, fake:
        assert _get_current_dispatch_mode_stack() == [fake, proxy, mine]
        with pytest.raises(AssertionError, match="already exists"):
            _push_mode(Infra(TorchDispatchModeKey.FAKE))
        with _disable_infra_modes():
            assert _get_current_dispatch_mode_stack() == [fake, proxy, mine]
        assert is_in_torch_dispatch_mode(include_infra_modes=False)
    with fake:
        assert not is_in_torch_dispatch_mode(include_infra_modes=False) and is_in_torch_dispatch_mode()
        with _disable_infra_modes():
            assert not _get_current_dispatch_mode_stack()


def test_push_is_deprecated():
    with pytest.warns(UserWarning, match="no longer necessary"):
        mode = Seen.push()
    assert isinstance(mode, Seen)


def test_bad_arguments():
    with pytest.raises(ValueError, match="layer 0 has no modes"):
        _C._push_mode(0, None)
    with pytest.raises(ValueError, match="rank"):
        _C._push_mode(_C._LAYER_PYTHON, None, 256)
    with pytest.raises(TypeError):
        _C._push_mode(_C._LAYER_PYTHON)
    with pytest.raises(AssertionError, match="PreDispatch"):
        TorchDispatchMode(_dispatch_key="CPU")


def test_modes_are_let_go():
    class Marked(Seen):
        alive = 0

        def __del__(self):
            Marked.alive -= 1

    mode = Marked()
    Marked.alive += 1
    with mode:
        tl.ones(2)
    del mode
    gc.collect()
    assert Marked.alive == 0


# ---- symbolic numbers
class Symbol:
    def __init__(self, hint):
        self.hint, self.guards = hint, 0

    def __sym_hint__(self):
        return self.hint

    def __int__(self):
        self.guards += 1
        return self.hint


class Int(Symbol):
    pass


class Float(Symbol):
    def __float__(self):
        self.guards += 1
        return self.hint


class Bool(Symbol):
    def __bool__(self):
        self.guards += 1
        return self.hint


@pytest.fixture
def symbols():
    _C._set_symbolic_types(Int, Float, Bool)
    yield Int(6), Float(2.5), Bool(True)
    _C._set_symbolic_types(numbers.SymInt, numbers.SymFloat, numbers.SymBool)


class Recorder:
    def __init__(self, result):
        self.result, self.calls = result, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((func, args, kwargs))
        return self.result


@pytest.mark.parametrize("layer", [_C._LAYER_TRACE, _C._LAYER_PYTHON])
def test_handlers_get_symbols(symbols, layer):
    i, f, b = symbols
    x = tl.ones(2, 3)
    recorder = Recorder(x)
    _C._push_mode(layer, recorder)
    try:
        tl.zeros(i)
        tl.zeros(i, 3)
        x.view(-1, i)
        x + i
        x * f
        i * x
        x.sum([i], b)
        tl.add(x, x, alpha=i)
    finally:
        _C._pop_mode(layer)
    args = [a for _, a, _ in recorder.calls]
    assert args[0][0] == [i] and args[1][0] == [i, 3] and args[2] == (x, [-1, i])
    assert args[3][1] is i and args[4][1] is f and args[5] == (x, i) and args[6] == (x, [i], b)
    assert recorder.calls[7][2] == {"alpha": i}
    assert i.guards == f.guards == b.guards == 0


def test_a_handler_calls_with_plain_numbers(symbols):
    i, _, _ = symbols
    inner, result = Recorder(tl.ones(6)), []

    class Concrete:
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result.append(func([6]))
            return tl.ones(6)

    for mode in (inner, Concrete()):
        _C._push_mode(_C._LAYER_TRACE, mode)
    try:
        tl.zeros(i)
    finally:
        for _ in range(2):
            _C._pop_mode(_C._LAYER_TRACE)
    assert inner.calls[0][1] == ([6],) and type(inner.calls[0][1][0][0]) is int


def test_symbols_are_guarded_without_a_handler(symbols):
    i, f, _ = symbols
    assert tl.zeros(i).shape == (6,) and i.guards == 1
    assert (tl.ones(1) * f).item() == 2.5 and f.guards == 1


def test_a_function_of_python_returns_a_symbol(symbols):
    i, f, _ = symbols
    lib = tl.library.Library("_test_symbols", "DEF")
    try:
        lib.define("twice(SymInt a) -> SymInt")
        lib.impl("twice", lambda a: a, "CompositeExplicitAutograd")
        lib.define("both(SymInt a, float b) -> (SymInt, float)")
        lib.impl("both", lambda a, b: (a, 2.5), "CompositeExplicitAutograd")
        assert tl.ops._test_symbols.twice(i) is i and tl.ops._test_symbols.twice(6) == 6
        assert tl.ops._test_symbols.both(i, f) == (i, 2.5)
    finally:
        lib._destroy()


# ---- operators that are methods -------------------------------------------------------------------------------------
def test_set_is_seen_by_modes_and_classes():
    records = []

    class Told(tl.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            records.append(func)
            return super().__torch_dispatch__(func, types, args, kwargs)

    x, source = tl.zeros(2).as_subclass(Told), tl.arange(6.0)
    x.set_(source)
    assert records == [aten.set_.source_Tensor] and x.tolist() == source.tolist() and type(x) is Told
    y = tl.zeros(2)
    with Seen() as mode:
        y.set_(source.untyped_storage(), 1, (2, 2), (2, 1))
        y.set_(source)
        y.set_()
    assert mode.names == ["set_.source_Storage_storage_offset", "set_.source_Tensor", "set_.default"]
    assert y.shape == (0,)
    with no_dispatch():
        x.set_(tl.ones(1))
    assert len(records) == 1


def test_set_refuses():
    x = tl.zeros(2)
    with pytest.raises(RuntimeError, match="the devices must match"):
        x.set_(tl.ones(3, device="meta"))
    with pytest.raises(RuntimeError, match="keeps the type"):
        x.set_(tl.ones(3, dtype=tl.int32))


def test_record_stream_is_for_modes():
    class Takes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.call = func.name(), args

    x, stream = tl.ones(1), object()
    with Takes() as mode:
        x.record_stream(stream)
    assert mode.call == ("aten::record_stream", (x, stream))
    with pytest.raises(NotImplementedError, match="record_stream"):
        x.record_stream(stream)


class Detaching(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result.detach() if isinstance(result, tl.Tensor) else result


class Computing(TorchDispatchMode):
    """Looks at the elements of each result."""

    def __init__(self):
        super().__init__()
        self.elements = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, tl.Tensor):
            self.elements.append((result + 0).tolist())
        return result


LAZY = {
    "view": lambda x: x.view(2, 2),
    "slice": lambda x: x[1:],
    "imag": lambda x: x.imag,
    "sum": lambda x: x + 1,
    "resolve": lambda x: x.resolve_conj().resolve_neg(),
    "conj": lambda x: x.conj(),
    "diag": lambda x: x.imag.diag(),
    "frac": lambda x: tl.frac(x.imag),
    "unbind": lambda x: x.unbind()[1],
}


@pytest.mark.parametrize("mode", [Seen, Detaching, Computing])
@pytest.mark.parametrize("call", LAZY.values(), ids=LAZY)
def test_what_handlers_return_of_conjugated_tensors(mode, call):
    """The bits are those of the handler's result: they are not turned again on the way back."""
    x = tl.tensor([1 + 2j, 3 - 1j, 5 + 0.5j, -2j]).conj()
    expected = call(x)
    with mode():
        result = call(x)
    assert result.is_conj() == expected.is_conj()
    assert result.is_neg() == expected.is_neg()
    assert result.tolist() == expected.tolist()


def test_handlers_see_the_elements_of_views_of_conjugated_tensors():
    x = tl.tensor([1 + 2j, 3 - 1j]).conj()
    with Computing() as mode:
        y = x[1:]
    assert mode.elements == [[3 + 1j]]
    assert y.tolist() == [3 + 1j]


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (lambda x: aten.max_pool2d(x, 3), ([3, 3],)),
        (lambda x: aten.max_pool2d(x, [3, 2], 1), ([3, 2], [1, 1])),
        (lambda x: aten.max_pool2d(x, [3]), ([3, 3],)),
        (lambda x: aten.max_pool2d(x, 3, padding=0, dilation=[1, 1]), ([3, 3],)),
        (lambda x: aten.max_pool2d(x, 3, 3, 1), ([3, 3], [3, 3], [1, 1])),
        (lambda x: aten.conv2d(x, x, None, 1), ()),
        (lambda x: aten.conv2d(x, x, None, 2), (None, [2, 2])),
        (lambda x: aten.sum(x, 1), ([1],)),
        (lambda x: aten.flip(x, [0]), ([0],)),
        (lambda x: aten.adaptive_avg_pool2d(x, 2), ([2, 2],)),
    ],
)
def test_a_number_for_a_list_of_a_stated_length_is_as_many(call, arguments):
    mode, x = Seen(), tl.ones(1, 1, 6, 6)
    _C._push_mode(_C._LAYER_TRACE, mode)
    try:
        call(x)
    finally:
        _C._pop_mode(_C._LAYER_TRACE)
    _, _, args, kwargs = mode.calls[0]
    assert (tuple(a for a in args if not isinstance(a, tl.Tensor)), kwargs) == (arguments, {})
