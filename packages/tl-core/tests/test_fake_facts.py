"""The facts by which fakes are computed: caches, rules of operators, contexts of traces, wrappers."""

from collections import namedtuple

import pytest

import tl_core as tl
from tl_core.operators.packets import aten
from tl_core.subclasses import (
    fake_cache,
    fake_impl,
    fake_rules,
    fake_tensor,
    fake_utils,
    meta_utils,
    operator_facts,
    tensor_structures,
    tracing_context,
    wrappers,
)
from tl_core.subclasses.fake_converter import FakeTensorConverter
from tl_core.subclasses.fake_mode import FakeTensorMode
from tl_core.subclasses.real_run import RealRun

Pair = namedtuple("Pair", ["first", "second"])


class Wrapper(tl.Tensor):
    """A tensor that holds another."""

    @staticmethod
    def __new__(cls, inner, **options):
        return wrappers.make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, **options)

    def __init__(self, inner, **options):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Wrapper(inner["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is aten.clone.default:
            return Wrapper(args[0].inner.clone())
        raise NotImplementedError(func)


class Bare(Wrapper):
    """A wrapper whose clone is a plain tensor."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return args[0].inner.clone()


def test_cache():
    cache, mode, state = fake_cache.FakeCache(), FakeTensorMode(), fake_cache.CacheKeyState()
    x, y = mode.from_tensor(tl.ones(2, 3)), mode.from_tensor(tl.ones(3, 2).t())
    keys = [
        cache.key(mode, fake_cache.CacheKeyState(), aten.neg.default, (t,), {})
        for t in (x, mode.from_tensor(tl.zeros(2, 3)), y)
    ]
    assert keys[0] == keys[1] != keys[2]
    cache.key(mode, state, aten.add.Tensor, (x, y), {})
    assert [t is u for t, u in zip(state.tensors, (x, y), strict=True)] == [True, True]
    assert cache.info() == fake_cache.CacheInfo(hits=0, misses=0, bypasses={}, size=0)


def test_metadata():
    metadata = fake_cache.extract_tensor_metadata(tl.ones(4, 3)[1:])
    assert isinstance(metadata, fake_cache.TensorMetadata)
    assert (metadata.shape, metadata.stride, metadata.storage_offset) == ((3, 3), (3, 1), 3)
    assert metadata.dtype is tl.float32 and not metadata.is_conj


def test_converter():
    converter, mode, x = FakeTensorConverter(), FakeTensorMode(), tl.ones(2, 3)
    fake = converter.from_real_tensor(mode, x)
    assert converter.from_real_tensor(mode, x) is fake and fake.fake_mode is mode
    assert fake.shape == (2, 3) and len(converter.tensor_memo) == 1


def test_rules():
    mask, index = tl.tensor([True]), tl.tensor([0])
    assert fake_rules.has_mask((tl.ones(1), [mask])) and not fake_rules.has_mask((tl.ones(1), [index]))
    assert fake_rules.depends_on_elements("nonzero", ())
    assert fake_rules.depends_on_elements("index.Tensor", (tl.ones(1), [mask]))
    assert not fake_rules.depends_on_elements("index.Tensor", (tl.ones(1), [index]))
    assert not fake_rules.depends_on_elements("add.Tensor", ())
    assert fake_rules.writes_at_mask("index_put_", (tl.ones(1), [mask], tl.ones(1)))
    assert not fake_rules.writes_at_mask("index_put_", (tl.ones(1), [index], tl.ones(1)))
    assert fake_rules.returns_number_of_elements("_local_scalar_dense")
    assert not fake_rules.returns_number_of_elements("sum")


def test_devices():
    mode = FakeTensorMode()
    with mode:
        cpu, cuda, number = tl.ones(2), tl.ones(2, device="cuda"), tl.ones(())
    assert fake_rules.common_device(aten.add.Tensor, [cpu, cpu]) == tl.device("cpu")
    assert fake_rules.common_device(aten.add.Tensor, [cuda, number]).type == "cuda"
    with pytest.raises(RuntimeError, match="device"):
        fake_rules.common_device(aten.add.Tensor, [cpu, cuda])
    assert fake_tensor.with_index("cuda") == tl.device("cuda:0")
    assert fake_tensor.with_index("cuda:1") == tl.device("cuda:1")
    assert fake_tensor.with_index("cpu") == tl.device("cpu")


def test_aliases():
    x = tl.ones(4)
    assert fake_utils.outputs_alias_inputs([x[1:]], (x,)) and not fake_utils.outputs_are_inputs([x[1:]], (x,))
    assert fake_utils.outputs_are_inputs([x], (x,))
    assert not fake_utils.outputs_alias_inputs([x.clone()], (x,))
    assert fake_utils.output_alias_each_other([x[:2], x[2:]])
    assert not fake_utils.output_alias_each_other([x, x.clone()])


def test_facts_of_operators():
    facts = operator_facts.facts_of(aten.add_.Tensor)
    assert (
        isinstance(facts, operator_facts.OperatorFacts) and operator_facts.facts_of(aten.add_.Tensor) is facts
    )
    x, y = tl.ones(2), tl.ones(2)
    assert facts.names == ["self", "other", "alpha"] and facts.written == [0]
    assert [t is x for t in facts.written_arguments((x, y), {})] == [True]
    factory = operator_facts.facts_of(aten.ones.default)
    args, kwargs = factory.with_device(([2],), {}, tl.device("meta"))
    assert args == ([2],) and kwargs == {"device": tl.device("meta")}
    assert factory.device_of(args, kwargs) == tl.device("meta") and factory.device_of(([2],), {}) is None


def test_run_on_real_tensors():
    x = FakeTensorMode().from_tensor(tl.ones(2))
    assert not RealRun(aten.neg.default, ["self"], [], (x,), {}).known
    x.real_tensor = tl.tensor([1.0, -2.0])
    run = RealRun(aten.neg.default, ["self"], [], (x,), {})
    assert run.known and run.result().tolist() == [-1, 2]


def test_structures():
    x = tl.ones(1)
    structure = {"a": [x, 3, (x, "text")], "b": Pair(x, None)}
    result = tensor_structures.map_tensors(structure, lambda t: t.item() + 1)
    assert result == {"a": [2.0, 3, (2.0, "text")], "b": Pair(2.0, None)} and type(result["b"]) is Pair


def test_contexts_of_fake_implementations():
    with pytest.raises(ValueError, match="statically known"):
        fake_impl.FakeImplCtx(type("Mode", (), {"shape_env": object()}), "op").new_dynamic_size(min=1.5)
    with pytest.raises(RuntimeError):
        fake_impl.FakeImplCtx(None, "op").new_dynamic_size()
    context = object()
    kernel = fake_impl.FakeKernel("ns::op", lambda x: (x, fake_impl.get_ctx()))
    with fake_impl.set_ctx_getter(lambda: context):
        assert kernel(2) == (2, context)
    with pytest.raises(RuntimeError, match=r"ns::op .*data-dependent shape"):
        kernel(2)


def test_contexts_of_traces():
    assert tracing_context.TracingContext.try_get() is None
    with pytest.raises(RuntimeError, match="ongoing trace"):
        tracing_context.TracingContext.get()
    mode = FakeTensorMode()
    with tracing_context.tracing(tracing_context.TracingContext(mode)) as context:
        assert tracing_context.TracingContext.get() is context
        assert tracing_context.detect_fake_mode() is mode and tracing_context.active_fake_mode() is None
        with pytest.raises(AssertionError, match="several"):
            tracing_context.detect_fake_mode([FakeTensorMode().from_tensor(tl.ones(1))])
    assert tracing_context.detect_fake_mode([mode.from_tensor(tl.ones(1))]) is mode
    with mode:
        assert tracing_context.active_fake_mode() is mode


def test_contexts_of_compilations():
    number = tracing_context.CompileId(3, 1)
    assert str(number) == "3/1" and tracing_context.CompileContext.try_get() is None
    with tracing_context.compile_context(tracing_context.CompileContext(number)) as context:
        assert tracing_context.CompileContext.get() is context
        assert tracing_context.CompileContext.current_compile_id() == number
    with pytest.raises(AssertionError):
        tracing_context.CompileContext.get()
    with pytest.raises(AssertionError, match="CompileId or None"):
        tracing_context.CompileContext("3/1")


def test_wrappers():
    x = tl.arange(6.0).view(2, 3)
    w = Wrapper(x)
    assert wrappers.has_no_elements(w) and not wrappers.has_no_elements(x)
    assert wrappers.is_traceable_wrapper_subclass_type(Wrapper)
    assert not wrappers.is_traceable_wrapper_subclass_type(tl.Tensor)
    clone = wrappers.clone_wrapper(w)
    assert type(clone) is Wrapper and clone.inner.tolist() == x.tolist() and clone.inner is not x
    with pytest.raises(RuntimeError, match="returned Tensor"):
        wrappers.clone_wrapper(Bare(x))
    assert fake_tensor.get_plain_tensors(w)[0] is x
    with pytest.raises(ValueError, match="must be None, 'sizes' or 'strides'"):
        wrappers.ask_handler(w, "colours", False, False)


def test_leaves():
    x = tl.ones(2)
    assert meta_utils.safe_is_leaf(x) is True and meta_utils.safe_grad(x) is None
