"""Operators from Python: schemas, kernels, libraries, and what they do to calls."""

from __future__ import annotations

import contextlib
import gc
import pickle
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import tl_core as tl
from tl_core import library
from tl_core.dispatch import fallbacks
from tl_core.dispatch.keys import DispatchKeySet
from tl_core.library import Library, custom_op
from tl_core.library.functional_variant import register_functional_op
from tl_core.schemas.parser import parse_schema
from tl_core.schemas.tags import Tag
from tl_core.subclasses.python_dispatch import TorchDispatchMode

NS = "_test_library"


@pytest.fixture
def lib() -> Iterator[Library]:
    result = Library(NS, "FRAGMENT")
    yield result
    result._destroy()


def raises(kind: type[Exception], text: str) -> Any:
    return pytest.raises(kind, match=re.escape(text))


# ---- schemas --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        "f() -> ()",
        "ns::f.overload(Tensor self, *, int[2]? k=None) -> (Tensor a, int b)",
        "f(Tensor(a!) x, Tensor(b)[] y, Tensor?[] z) -> Tensor(a!)",
        "f(Dict(str, Tensor) d, (int, float) t, str s=\"a,b)\") -> Future(int)",
        "f(int[] k=[1, -2], float x=1e-05, bool b=True, Device d=\"cpu\", ScalarType t=float32) -> Tensor[]",
        "f(Tensor(a -> *) x, SymInt n, Scalar? s, ...) -> ...",
        "f(Tensor x) -> (Tensor)",
    ],
)  # fmt: skip
def test_a_schema_is_written_as_it_was_read(text: str) -> None:
    assert str(parse_schema(text)) == text
    assert parse_schema(str(parse_schema(text))) == parse_schema(text)


def test_every_row_has_a_schema() -> None:
    for name, text in tl._C._operators().items():
        parsed = parse_schema(text)
        assert parsed.full_name == name and parse_schema(str(parsed)) == parsed
        writes = [a.name for a in parsed.arguments if a.is_write]
        assert len(writes) == text.partition(" -> ")[0].count("!")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("f(Tensr x) -> Tensor", "unknown type specifier 'Tensr'"),
        ("f(Tensor x)", "expected -> but found the end"),
        ("f(Tensor x, *, int a, *, int b) -> ()", "a second '*'"),
        ("f(int x=1, ...) -> ()", "vararg (...) can't have default value args"),
        ("f(Tensor) -> ()", "expected the name of an argument"),
        ("f.default(Tensor x) -> ()", "'default' is not a name"),
        ("f(Tensor x) -> Tensor y z", "unexpected 'z'"),
        ("f(int a=b) -> ()", "'b' is no default"),
        ("f(Tensor x) -> Tensor ;", "unexpected character"),
    ],
)
def test_what_is_no_schema(text: str, what: str) -> None:
    with raises(RuntimeError, what):
        parse_schema(text)


def test_arguments_of_a_schema() -> None:
    s = parse_schema("n::f(Tensor(a!) x, SymInt[3] k, *, float y=2, Tensor(b!) out) -> Tensor(a!)")
    x, k, y, out = s.arguments
    assert x.alias_info is not None and x.alias_info.is_write and x.alias_info.before_set == {"a"}
    assert (
        str(x.type) == "Tensor"
        and str(k.type) == "List[int]"
        and k.N == 3
        and str(k.real_type) == "List[SymInt]"
    )
    assert y.default_value == 2.0 and isinstance(y.default_value, float) and y.kwarg_only and not y.is_out
    assert out.is_out and not x.is_out and s.is_mutable


def a_function(
    x: tl.Tensor, ys: Sequence[tl.Tensor], z: int | None = None, *, d: tl.dtype = tl.float32
) -> tuple[tl.Tensor, int]:
    raise NotImplementedError


def test_a_schema_from_annotations() -> None:
    text = "(Tensor x, Tensor[] ys, SymInt? z=None, *, ScalarType d=float32) -> (Tensor, SymInt)"
    assert library.infer_schema(a_function, mutates_args=()) == text
    schema = library.infer_schema(a_function, mutates_args="unknown", op_name="f")
    assert schema.startswith("f(Tensor(a0!) x, Tensor(a1!)[] ys, SymInt? z=None")


def test_annotations_that_are_no_schema() -> None:
    def bare(x) -> tl.Tensor: ...  # type: ignore[no-untyped-def, empty-body]
    def no_result(x: tl.Tensor): ...  # type: ignore[no-untyped-def]
    def several(*x: tl.Tensor) -> tl.Tensor: ...  # type: ignore[empty-body]
    def of_pairs(x: tuple[int, int]) -> tl.Tensor: ...  # type: ignore[empty-body]

    for function, what in (
        (bare, "must have a type annotation"),
        (no_result, "No return type annotation"),
        (several, "varargs"),
        (of_pairs, "unsupported type"),
    ):
        with raises(ValueError, what):
            library.infer_schema(function, mutates_args=())
    with raises(ValueError, "can be mutated"):
        library.infer_schema(a_function, mutates_args={"z"})
    with raises(ValueError, "were not found"):
        library.infer_schema(a_function, mutates_args={"q"})


# ---- kernels --------------------------------------------------------------------------------------------------------
def test_every_kind_of_argument_comes_to_the_function(lib: Library) -> None:
    lib.define(
        "f(Tensor x, Tensor? y, Tensor[] xs, Tensor?[] ys, int i, float f, bool b, str s, ScalarType t, Device d, "
        "Layout l, MemoryFormat m, int[] is, float[] fs, bool[] bs, Scalar n, str[] strings, Any o) -> int"
    )
    records: list[Any] = []
    lib.impl("f", lambda *args: records.extend(args) or len(args), "CPU")
    x, anything = tl.ones(2), object()
    source = (x, None, [x, x], [None, x], 3, 1.5, True, "text", tl.int8, tl.device("cpu"), tl.strided,
             tl.contiguous_format, [1, 2], [0.5], [True, False], 2 + 1j, ["a", "b"], anything)  # fmt: skip
    assert getattr(tl.ops, NS).f(*source) == 18
    assert records[0] is x and records[2][1] is x and records[-1] is anything
    assert [type(s) for s in records] == [type(g) for g in source]
    assert records[4:] == list(source[4:])


def test_more_results_than_a_call_can_have(lib: Library) -> None:
    with raises(NotImplementedError, "has 1 arguments and 9 results"):
        lib.define("g(int a) -> (" + ", ".join(["int"] * 9) + ")")


@pytest.mark.parametrize(
    ("kind", "made"),
    [("Tensor", tl.ones(1)), ("Tensor[]", [tl.ones(2)]), ("Tensor?[]", [None, tl.ones(2)]), ("int", 1),
     ("float", 2.5), ("bool", True), ("str", "s"), ("int[]", [1, 2]), ("float[]", [0.5]), ("bool[]", [True]),
     ("Scalar", 3 + 1j), ("Any", {"a": 1}), ("ScalarType", tl.int8), ("Device", tl.device("cpu")),
     ("Tensor?", None), ("()", None)],
)  # fmt: skip
def test_a_result_comes_back_as_it_was_made(lib: Library, kind: str, made: Any) -> None:
    lib.define(f"f() -> {kind}")
    lib.impl("f", lambda: made, "CompositeExplicitAutograd")
    result = getattr(tl.ops, NS).f()
    assert type(result) is type(made)
    assert result is made if isinstance(made, tl.Tensor) else str(result) == str(made)


@pytest.mark.parametrize(
    ("schema", "made", "what"),
    [
        ("f() -> Tensor", 3, "says that it returns Tensor, but its Python function returned int"),
        ("f() -> Tensor", None, "returned NoneType"),
        ("f() -> (Tensor, int)", (tl.ones(1),), "to return a tuple of 2 values, got 1"),
        ("f() -> (Tensor, int)", 5, "to return a tuple of 2 values, got int"),
        ("f() -> ()", 1, "to return None but it returned something else"),
        ("f() -> int[]", ["a"], "returned list"),
    ],
)
def test_a_result_that_the_schema_does_not_say(lib: Library, schema: str, made: Any, what: str) -> None:
    lib.define(schema)
    lib.impl("f", lambda: made, "CompositeExplicitAutograd")
    with pytest.raises((TypeError, RuntimeError), match=re.escape(what)):
        getattr(tl.ops, NS).f()


def test_defaults_are_left_out(lib: Library) -> None:
    lib.define('f(Tensor x, int a=1, int[] b=[1, 2], *, str s="z", float y=0.5) -> int')
    calls: list[Any] = []
    lib.impl("f", lambda *args, **kwargs: calls.append((args[1:], kwargs)) or 0, "CPU")
    f, x = getattr(tl.ops, NS).f, tl.ones(1)
    f(x)
    f(x, 1, [1, 2])
    f(x, 1, [2], y=2.0)
    f(x, 3, s="z")
    assert calls == [((), {}), ((), {}), ((1, [2]), {"y": 2.0}), ((3,), {})]


def test_errors_of_a_function_pass_as_they_are(lib: Library) -> None:
    class Own(Exception):
        pass

    def fails(x: Any) -> Any:
        raise Own("why")

    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", fails, "CPU")
    with pytest.raises(Own, match="why") as caught:
        getattr(tl.ops, NS).f(tl.ones(1))
    assert caught.traceback[-1].name == "fails"


def test_the_device_chooses_the_function(lib: Library) -> None:
    lib.define("f(Tensor x) -> str")
    with pytest.raises(NotImplementedError):
        getattr(tl.ops, NS).f(tl.ones(1))
    lib.impl("f", lambda x: "all", "CompositeExplicitAutograd")
    lib.impl("f", lambda x: "meta", "Meta")
    f = getattr(tl.ops, NS).f
    assert f(tl.ones(1)) == "all" and f(tl.empty(1, device="meta")) == "meta"
    other = Library(NS, "IMPL", "CPU")
    other.impl("f", lambda x: "cpu")
    assert f(tl.ones(1)) == "cpu"
    other._destroy()
    assert f(tl.ones(1)) == "all"


def test_a_function_that_writes_bumps_the_version() -> None:
    @custom_op(f"{NS}::fill", mutates_args={"x", "ys"})
    def fill(y: tl.Tensor, x: tl.Tensor, ys: Sequence[tl.Tensor]) -> None:
        x.copy_(y)

    x, ys = tl.zeros(2), [tl.zeros(1)]
    before = x._version, ys[0]._version
    assert fill(tl.ones(2), x, ys) is None
    assert x.tolist() == [1, 1] and x._version > before[0] and ys[0]._version > before[1]


def test_results_that_share_memory_with_arguments_are_refused() -> None:
    @custom_op(f"{NS}::same", mutates_args=())
    def same(x: tl.Tensor, how: int) -> tuple[tl.Tensor, tl.Tensor]:
        y = x.clone()
        return (x.view(-1), y) if how == 0 else (y, y) if how == 1 else (y, y.clone())

    for how in (0, 1):
        with raises(RuntimeError, "may not alias any inputs"):
            same(tl.ones(2, 2), how)
    assert len(same(tl.ones(2), 2)) == 2


def test_an_operator_of_the_core_gets_another_function() -> None:
    lib = Library("aten", "IMPL")
    lib.impl("cosh", lambda self: self * 0 + 7, "CPU")
    assert tl.cosh(tl.ones(2)).tolist() == [7, 7]
    with raises(RuntimeError, "there's already a kernel registered from python"):
        Library("aten", "IMPL").impl("cosh", lambda self: self, "CPU")
    lib._destroy()
    assert tl.cosh(tl.zeros(1)).item() == 1
    assert tl.cosh(tl.empty(2, device="meta")).shape == (2,)


# ---- libraries ------------------------------------------------------------------------------------------------------
def test_operators_go_with_their_library() -> None:
    lib = Library(f"{NS}_2", "DEF")
    with raises(RuntimeError, "Only a single TORCH_LIBRARY"):
        Library(f"{NS}_2", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    f = getattr(tl.ops, f"{NS}_2").f
    assert f(tl.ones(1)).item() == 1
    with raises(RuntimeError, "multiple times"):
        Library(f"{NS}_2", "FRAGMENT").define("f(Tensor x) -> Tensor")
    del lib
    gc.collect()
    with pytest.raises(AttributeError):
        _ = getattr(tl.ops, f"{NS}_2").f
    with pytest.raises(NotImplementedError):
        f(tl.ones(1))
    again = Library(f"{NS}_2", "DEF")
    again.define("f(Tensor x, int k) -> int")
    again.impl("f", lambda x, k: k, "CPU")
    assert getattr(tl.ops, f"{NS}_2").f(tl.ones(1), 5) == 5
    again._destroy()


def test_misuse_of_libraries(lib: Library) -> None:
    with pytest.raises(ValueError, match="Unsupported kind"):
        Library("x", "NONE")
    with pytest.raises(ValueError, match="reserved"):
        Library("prim", "DEF")
    with raises(RuntimeError, "Invalid alias_analysis"):
        lib.define("f(Tensor x) -> Tensor", "SOME")
    with raises(TypeError, "Input function is required to be a callable"):
        lib.impl("f", 3)  # type: ignore[arg-type]
    with raises(RuntimeError, "either a name or an OpOverload"):
        lib.impl(lambda: None, lambda: None)
    with raises(RuntimeError, "is not an operator of the namespace"):
        lib.impl("aten::sin", lambda x: x)
    with raises(RuntimeError, "global namespace"):
        lib.fallback(lambda op: None, "CPU")
    with raises(ValueError, "expected schema to look like"):
        library.define(f"{NS}::g", "f(Tensor x) -> Tensor")
    with raises(ValueError, "namespace::name"):
        library.define("g", "(Tensor x) -> Tensor")
    with raises(RuntimeError, "device type at start of device string"):
        library.impl("aten::sin", "cpux", lambda x: x)
    lib.define("f(Tensor x) -> Tensor")
    with raises(NotImplementedError, "no call meets the dispatch key"):
        lib.impl("f", lambda x: x, "ADInplaceOrView")


def test_overloads_and_their_packet(lib: Library) -> None:
    lib.define("f(Tensor x) -> int")
    lib.define("f.two(Tensor x, Tensor y) -> int", tags=Tag.pointwise)
    lib.impl("f", lambda x: 1, "CPU")
    lib.impl("f.two", lambda x, y: 2, "CPU")
    f = getattr(tl.ops, NS).f
    assert f.overloads() == ["default", "two"] and f(tl.ones(1)) == 1 and f(tl.ones(1), tl.ones(1)) == 2
    assert f.two.tags == [Tag.pointwise] and f.default.tags == []
    assert f.two.name() == f"{NS}::f.two" and str(f.two) == f"{NS}.f.two" and f.two.namespace == NS
    assert f.two.overloadpacket is f and pickle.loads(pickle.dumps(f.two)) is f.two
    assert [a.name for a in f.two._schema.arguments] == ["x", "y"]
    with raises(AttributeError, "has no overload name 'three'"):
        f.three  # noqa: B018
    with pytest.raises(TypeError, match="takes 1 positional"):
        f.default(tl.ones(1), tl.ones(1))


def test_classes_and_modes_take_operators_over(lib: Library) -> None:
    class Own(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func

    @custom_op(f"{NS}::taken", mutates_args=())
    def taken(x: tl.Tensor) -> tl.Tensor:
        return x.clone()

    x = tl.ones(1).as_subclass(Own)
    packet = getattr(tl.ops, NS).taken
    assert taken(x) is packet.default and packet(x) is packet and packet.default(x) is packet.default


def test_many_threads_call_one_operator(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    f, wrong = getattr(tl.ops, NS).f, []

    def work() -> None:
        wrong.extend(i for i in range(200) if f(tl.full((3,), float(i)))[0].item() != i + 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- custom_op ------------------------------------------------------------------------------------------------------
def test_without_a_fake_the_error_says_so() -> None:
    @custom_op(f"{NS}::unfaked", mutates_args=())
    def unfaked(x: tl.Tensor) -> tl.Tensor:
        return x.clone()

    with raises(RuntimeError, "There was no fake impl registered for <CustomOpDef(_test_library::unfaked)>"):
        unfaked(tl.empty(2, device="meta"))
    unfaked.register_fake(lambda x: tl.empty_like(x))
    assert unfaked(tl.empty(2, device="meta")).is_meta

    @unfaked.register_fake
    def _(x: Any) -> Any:
        return library.get_ctx().new_dynamic_size()

    with raises(RuntimeError, "data-dependent shape"):
        unfaked(tl.empty(2, device="meta"))


def test_a_factory_is_chosen_by_its_device() -> None:
    @custom_op(f"{NS}::made", mutates_args=(), device_types="cpu")
    def made(device: tl.device) -> tl.Tensor:
        return tl.ones(3, device=device)

    assert made("cpu").tolist() == [1, 1, 1]
    with raises(ValueError, "required to have a `device: torch.device` argument"):

        @custom_op(f"{NS}::nowhere", mutates_args=(), device_types="cpu")
        def nowhere(n: int) -> tl.Tensor:
            return tl.ones(n)


def test_a_schema_by_hand_must_agree() -> None:
    with raises(ValueError, "Please make these consistent"):
        custom_op(f"{NS}::hand", lambda x: None, mutates_args=(), schema="(Tensor(a!) x) -> ()")
    op = custom_op(f"{NS}::hand", lambda x: None, mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    assert op(tl.ones(1)) is None
    with raises(RuntimeError, "Cannot register autograd formula for non-functional operator"):
        op.register_autograd(lambda ctx: None)


def test_autocast_casts_what_the_operator_gets() -> None:
    @custom_op(f"{NS}::cast", mutates_args=())
    def cast(x: tl.Tensor, n: tl.Tensor) -> list[tl.Tensor]:
        return [x.clone(), n.clone()]

    cast.register_autocast("cpu", tl.bfloat16)
    x, n = tl.ones(2), tl.ones(2, dtype=tl.int64)
    assert [t.dtype for t in cast(x, n)] == [tl.float32, tl.int64]
    from tl_core.dispatch import autocast

    autocast.set_autocast_enabled("cpu", True)
    try:
        assert [t.dtype for t in cast(x, n)] == [tl.bfloat16, tl.int64]
    finally:
        autocast.set_autocast_enabled("cpu", False)
    for bad in ("fluffy", 3):
        with pytest.raises(ValueError):
            cast.register_autocast(bad, tl.bfloat16)  # type: ignore[arg-type]


def test_triton_operators_run_on_cpus() -> None:
    def triple(x: tl.Tensor) -> tl.Tensor:
        return x * 3

    operator = library.triton_op(f"{NS}::triple", triple, mutates_args=())
    assert operator(tl.tensor([2.0, 4.0])).tolist() == [6.0, 12.0]
    assert operator(tl.ones(2, 3, device="meta")).shape == (2, 3)

    @library.triton_op(f"{NS}::double", mutates_args=())
    def double(x: tl.Tensor) -> tl.Tensor:
        raise NotImplementedError("a kernel for GPUs")

    @double.register_kernel("cpu")
    def _(x: tl.Tensor) -> tl.Tensor:
        return x * 2

    assert double(tl.tensor([2.0, 4.0])).tolist() == [4.0, 8.0]
    with raises(ValueError, "annotation"):
        library.triton_op(f"{NS}::bare", lambda x: x, mutates_args=())
    with raises(RuntimeError, "Triton"):
        library.wrap_triton(lambda: None)


def test_tags_of_rows() -> None:
    aten = tl.ops.aten
    assert Tag.pointwise in aten.sin.default.tags and Tag.pointwise not in aten.sum.default.tags
    assert Tag.nondeterministic_seeded in aten.bernoulli.default.tags
    assert Tag.inplace_view in aten.squeeze_.default.tags
    assert Tag.dynamic_output_shape in aten.nonzero.default.tags
    assert Tag.view_copy in aten.view_copy.default.tags and Tag.view_copy not in aten._to_copy.default.tags


def test_functional_variants() -> None:
    with library._scoped_library(NS, "FRAGMENT") as lib:
        lib.define("fill_two(Tensor x, Tensor(a!) y, Tensor(b!)? z, *, int by=2) -> Tensor")

        def fill_two(x: Any, y: Any, z: Any, *, by: int = 2) -> Any:
            y.add_(by)
            if z is not None:
                z.add_(by)
            return x * by

        lib.impl("fill_two", fill_two, "CPU")
        writing = getattr(tl.ops, NS).fill_two.default
        register_functional_op(lib, "filled_two", writing)
        functional = getattr(tl.ops, NS).filled_two.default
        assert str(functional._schema).partition("(")[2] == (
            "Tensor x, Tensor y, Tensor? z, *, int by=2) -> (Tensor, Tensor y_out, Tensor? z_out)"
        )
        x, y, z = tl.tensor(1.0), tl.tensor(2.0), tl.tensor(3.0)
        assert [t.item() for t in functional(x, y, z, by=5)] == [5.0, 7.0, 8.0]
        assert (y.item(), z.item()) == (2.0, 3.0)
        assert functional(x, y, None)[2] is None
        for schema, error in [("(Tensor x) -> Tensor", "mutable"), ("(Tensor(a!)[] x) -> ()", "NYI")]:
            name = "refused" + str(len(schema))
            lib.define(name + schema)
            with raises(RuntimeError, error):
                register_functional_op(lib, "variant", getattr(getattr(tl.ops, NS), name).default)
        with raises(TypeError, "OpOverload"):
            register_functional_op(lib, "variant", tl.ops.aten.abs_)


def test_keys_that_contradict_each_other() -> None:
    with library._scoped_library(NS, "FRAGMENT") as lib:
        lib.define("alike(Tensor x) -> Tensor")
        with library._scoped_library(NS, "IMPL", "CPU") as kernels:
            with raises(RuntimeError, "inconsistent with the dispatch key"):
                kernels.impl("alike", tl.clone, "Meta")
            kernels.impl("alike", tl.clone)
            assert getattr(tl.ops, NS).alike(tl.ones(2)).tolist() == [1.0, 1.0]


def test_functions_of_operators_that_are_defined_later():
    early = Library("later", "IMPL")
    early.impl("twice", lambda x: 2 * x, "CPU")
    tl.library.register_fake("later::twice", lambda x: x.new_empty(x.shape), lib=early)
    with pytest.raises(AttributeError, match="twice"):
        tl.ops.later.twice  # noqa: B018
    defined = Library("later", "FRAGMENT")
    defined.define("twice(Tensor x) -> Tensor")
    assert tl.ops.later.twice(tl.ones(2)).tolist() == [2.0, 2.0]
    assert tl.ops.later.twice(tl.empty(3, device="meta")).shape == (3,)
    early._destroy()
    defined._destroy()


class _Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_results_of_an_operator_that_writes_first_are_its_own(lib: Library) -> None:
    lib.define("written(Tensor(a!) x, Tensor(b!) y) -> (Tensor, Tensor, Tensor)")
    lib.impl("written", lambda x, y: (x.add_(1).clone(), y.add_(1).clone(), x + y), "CPU")
    lib.define("one(Tensor(a!) x) -> Tensor")
    lib.impl("one", lambda x: x.add_(1) * 2, "CPU")
    op = getattr(tl.ops, NS)
    with _Passing():
        assert [t.item() for t in op.written(tl.ones(1), tl.ones(1))] == [2.0, 2.0, 4.0]
        assert op.one(tl.ones(1)).item() == 4.0


# ---- one function for all operators ---------------------------------------------------------------------------------
MODE, WRAPPER = "TESTING_ONLY_GenericMode", "TESTING_ONLY_GenericWrapper"


@contextlib.contextmanager
def included(*names: str) -> Iterator[None]:
    """A region whose calls meet the keys."""
    with fallbacks.ForceDispatchKeyGuard(
        fallbacks.included_keys() | DispatchKeySet(*names), fallbacks.excluded_keys()
    ):
        yield


@contextlib.contextmanager
def excluded(*names: str) -> Iterator[None]:
    with fallbacks.ForceDispatchKeyGuard(
        fallbacks.included_keys(), fallbacks.excluded_keys() | DispatchKeySet(*names)
    ):
        yield


def test_a_function_for_all_operators_while_its_key_is_included() -> None:
    calls = []

    def function(op: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append((op, args, kwargs))
        with excluded(MODE):
            return op(*args, **kwargs)

    x = tl.ones(2)
    with library._scoped_library("_", "IMPL") as everywhere:
        everywhere.fallback(function, MODE)
        assert (x + x).tolist() == [2.0, 2.0] and not calls
        with included(MODE):
            assert (x + x).tolist() == [2.0, 2.0]
            tl.empty((2, 2), dtype=tl.float64)
        assert (x + x).tolist() == [2.0, 2.0]
    assert [op for op, *_ in calls] == [tl.ops.aten.add.Tensor, tl.ops.aten.empty.memory_format]
    assert calls[0][1] == (x, x) and calls[1][2]["dtype"] is tl.float64
    with included(MODE):
        x + x
    assert len(calls) == 2  # it went with its library


def test_functions_of_several_keys_pass_calls_on() -> None:
    records = []

    def above(keys: DispatchKeySet, op: Any, *args: Any, **kwargs: Any) -> Any:
        records.append("above")
        if "below" in records:
            with excluded(MODE, WRAPPER):
                return op(*args, **kwargs)
        return op.redispatch(keys.remove(MODE), *args, **kwargs)

    def below(op: Any, *args: Any, **kwargs: Any) -> Any:
        records.append("below")
        return args[0] - args[1]  # a call of its own, which meets both

    with library._scoped_library("_", "IMPL") as everywhere:
        everywhere.fallback(above, MODE, with_keyset=True)
        everywhere.fallback(below, WRAPPER)
        x = tl.ones(1)
        with included(MODE, WRAPPER):
            result = x + x
    assert result.item() == 0.0
    assert records == ["above", "below", "above"]
    with library._scoped_library("_", "IMPL") as everywhere:
        everywhere.fallback(library.fallthrough_kernel, MODE)
        with included(MODE):
            assert (tl.ones(1) + tl.ones(1)).item() == 2.0


def test_a_librarys_functions_are_noted_as_long_as_it_lives() -> None:
    lib = Library(NS, "FRAGMENT")
    lib.define("noted(Tensor x) -> Tensor")
    lib.impl("noted", lambda x: x.clone(), "CPU")
    assert f"{NS}/noted/CPU" in library._impls and lib._op_impls == {f"{NS}/noted/CPU"}
    del lib
    gc.collect()
    assert f"{NS}/noted/CPU" not in library._impls


def test_kernels_get_a_number_for_a_list_as_many(lib: Library) -> None:
    lib.define("f(Tensor x, int[2] size, int[3]? step=None, int[2] pad=0) -> int[]")
    lib.impl("f", lambda x, size, step=None, pad=(0, 0): [*size, *(step or ()), *pad], "CPU")
    f = getattr(tl.ops, NS).f
    assert f(tl.ones(1), 3) == [3, 3, 0, 0]
    assert f(tl.ones(1), [3, 4], 1, 2) == [3, 4, 1, 1, 1, 2, 2]
