"""Tensors that stand for others, made by `_make_wrapper_subclass`."""

import copy
import pickle

import pytest

import tl_core as tl
from tl_core import _C
from tl_core.operators.packets import aten
from tl_core.pytree import tree_map
from tl_core.subclasses.python_dispatch import (
    is_traceable_wrapper_subclass,
    no_dispatch,
    return_and_correct_aliasing,
    transform_subclass,
)


class Boxed(tl.Tensor):
    """Holds a tensor; every operator goes to it."""

    inner: tl.Tensor

    @staticmethod
    def __new__(cls, inner):
        result = tl.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
            device=inner.device,
        )  # fmt: skip
        result.inner = inner
        return result

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(parts, context, size, stride):
        return Boxed(parts["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        open_ = tree_map(lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs or {}))
        out = tree_map(lambda x: cls(x) if isinstance(x, tl.Tensor) else x, func(*open_[0], **open_[1]))
        return return_and_correct_aliasing(func, args, kwargs, out)


def boxed(*values):
    return Boxed(tl.tensor(values))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 1,
        lambda x: x.exp().sum(1),
        lambda x: x @ x.t(),
        lambda x: x.topk(1).values,
        lambda x: tl.cat([x, x], 1),
        lambda x: x[0, 1:],
        lambda x: x[x > 2],
        lambda x: x[:, [1, 0]],
        lambda x: tl.where(x > 2, x, 0),
        lambda x: x.reshape(4).view(2, 2),
        lambda x: x.to(tl.float64),
        lambda x: tl.stack(x.unbind()),
    ],
)
def test_operators_go_to_what_is_inside(call):
    plain = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    result, expected = call(Boxed(plain)), call(plain)
    assert type(result) is Boxed and tl.equal(result.inner, expected)
    assert (
        result.shape == expected.shape
        and result.dtype == expected.dtype
        and result.stride() == expected.stride()
    )


def test_numbers_come_out():
    x = boxed(1.0, 2.0)
    assert x.sum().item() == 3.0 and float(x[1]) == 2.0 and bool((x > 0).all())


def test_writes():
    x = boxed(1.0, 2.0)
    before = x._version
    assert x.add_(1) is x and x.inner.tolist() == [2.0, 3.0] and x._version == before + 1
    x[0] = 7
    assert x.inner.tolist() == [7.0, 3.0]
    y = Boxed(tl.ones(2, 3))
    assert y.t_() is y and y.shape == (3, 2) and y.stride() == (1, 3)


def test_views_share_a_storage_and_a_version():
    x = boxed(1.0, 2.0)
    view = x.view(2, 1)
    assert view._is_view() and view._base is x and _C._is_alias_of(view, x)
    view.mul_(2)
    assert x.inner.tolist() == [2.0, 4.0] and x._version == view._version == 1
    assert x.detach()._version == 1


def test_memory_is_refused():
    pytest.importorskip("numpy")
    x = boxed(1.0, 2.0)
    assert x.data_ptr() == 0  # programs tell those that stand for others by it
    for read in (x.numpy, x.tolist, lambda: memoryview(x), x.untyped_storage().data_ptr):
        with pytest.raises(RuntimeError, match=r"storage|memory"):
            read()


def test_kernels_refuse_them():
    x = boxed(1.0, 2.0)
    with no_dispatch():
        for call in (
            lambda: x + 1,
            lambda: x.view(2, 1) + 1,
            lambda: x.add_(1),
            lambda: x.sum(),
            x.clone,
            x.item,
        ):
            with pytest.raises((RuntimeError, ValueError), match=r"no memory|one element"):
                call()
        assert x.view(2, 1).shape == (2, 1)


def test_written_out():
    assert repr(boxed(1.0, 2.0)) == "Boxed(..., size=(2,))"


def test_copies_and_pickles():
    x = boxed(1.0, 2.0)
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert type(again) is Boxed and again.inner.tolist() == [1.0, 2.0]
    assert copy.deepcopy(x).inner is not x.inner


def test_a_clone_of_another_class_is_no_copy():
    class Unboxing(Boxed):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))

    x = Unboxing(tl.ones(2))
    with pytest.raises(RuntimeError, match="cloning returns another instance of the same subclass"):
        copy.deepcopy(x)


def test_looking_through():
    x = boxed(1.0, 2.0)
    assert is_traceable_wrapper_subclass(x) and not is_traceable_wrapper_subclass(x.inner)
    result = transform_subclass(x, lambda name, part: part * 3)
    assert type(result) is Boxed and result.inner.tolist() == [3.0, 6.0]
    with pytest.raises(AssertionError, match="shape equal to"):
        transform_subclass(x, lambda name, part: part[:1])
    with pytest.raises(AssertionError, match="strides equal to"):
        transform_subclass(Boxed(tl.ones(2, 3)), lambda name, part: part.t().contiguous().t())


def test_parameters():
    p = tl.Parameter(boxed(1.0, 2.0), requires_grad=False)
    assert type(p) is Boxed and isinstance(p, tl.Parameter)


# ---- making one
def test_bad_arguments():
    class Plain(tl.Tensor):
        pass

    make = tl.Tensor._make_wrapper_subclass
    with pytest.raises(TypeError, match="Plain must define __torch_dispatch__"):
        make(Plain, (2,))
    with pytest.raises(RuntimeError, match="mismatch in length of strides and shape"):
        make(Boxed, (2, 3), strides=(1,))
    with pytest.raises(ValueError, match="dispatch_sizes_strides_policy"):
        make(Boxed, (2,), dispatch_sizes_strides_policy="other")
    with pytest.raises(RuntimeError, match="negative dimension"):
        make(Boxed, (-2,))
    with pytest.raises(NotImplementedError, match="strided"):
        make(Boxed, (2,), layout=tl.sparse_coo)
    with pytest.raises(TypeError, match="dtype"):
        make(Boxed, (2,), dtype=3)


def test_geometry():
    make = tl.Tensor._make_wrapper_subclass
    x = make(Boxed, (2, 3, 4, 5), memory_format=tl.channels_last, dtype=tl.int32, device="meta")
    assert x.stride() == (60, 1, 15, 3) and x.dtype is tl.int32 and x.is_meta
    assert make(Boxed, (2, 3)).is_contiguous() and make(Boxed, ()).dim() == 0
    assert make(Boxed, (2,), storage_size=64).untyped_storage().nbytes() == 64
    assert make(Boxed, (2,), storage_offset=3).storage_offset() == 3
    assert make(Boxed, (1 << 40, 1 << 10)).numel() == 1 << 50


def test_one_object_a_tensor():
    class Other(tl.Tensor):
        pass

    with pytest.raises(
        RuntimeError, match=r"subclass Other but .* already associated to a python object of type Boxed"
    ):
        boxed(1.0).as_subclass(Other)


# ---- what handlers say of sizes
def answering(policy, answers, **kwargs):
    class Answering(tl.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return answers.get(str(func.overloadpacket), NotImplemented)

    return tl.Tensor._make_wrapper_subclass(Answering, (2, 3), dispatch_sizes_strides_policy=policy, **kwargs)


def test_handlers_say_sizes():
    x = answering(
        "sizes", {"aten.sym_size": (5, 3), "aten.dim": 2, "aten.sym_numel": 15, "aten.sym_stride": None}
    )
    assert x.shape == x.size() == (5, 3) and x.size(0) == 5 and x.dim() == x.ndim == 2 and x.numel() == 15
    assert x.stride() == (3, 1)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.ops\.aten\.is_contiguous'"):
        x.is_contiguous()


def test_handlers_say_strides_and_devices():
    x = answering("strides", {"aten.sym_stride": (7, 1), "aten.is_contiguous": False})
    assert x.stride() == (7, 1) and x.stride(0) == 7 and not x.is_contiguous() and x.shape == (2, 3)
    x = answering(None, {"prim.device": tl.device("meta"), "prim.layout": tl.sparse_csr}, dispatch_device=True,
                  dispatch_layout=True)  # fmt: skip
    assert x.device.type == "meta" and x.is_meta and not x.is_cpu and x.layout is tl.sparse_csr


def test_handlers_say_whether_strides_are_in_order():
    x = answering(
        "strides", {"aten.is_strides_like_format": True, "aten.is_non_overlapping_and_dense": False}
    )
    assert aten.is_strides_like_format.default(x, tl.channels_last)
    assert not aten.is_non_overlapping_and_dense.default(x)
    with no_dispatch():  # as stored
        assert not aten.is_strides_like_format.default(x, tl.channels_last)
        assert aten.is_non_overlapping_and_dense.default(x) and x.stride() == (3, 1)


def test_contiguous_asks_the_handler():
    assert (x := answering("strides", {"aten.is_contiguous": True})).contiguous() is x
    for answers in ({"aten.is_contiguous": False}, {}):  # a clone, of which the handler does not know either
        with pytest.raises(TypeError, match="Multiple dispatch failed"):
            answering("strides", answers).contiguous()


@pytest.mark.parametrize(
    ("strides", "like"),
    [
        ((60, 1, 15, 3), True), ((120, 2, 30, 6), True),  # dense and not
        ((60, 20, 5, 1), False), ((60, 1, 3, 12), False), ((0, 0, 0, 0), False),
    ],
)  # fmt: skip
def test_strides_like_channels_last(strides, like):
    x = tl.empty_strided((2, 3, 4, 5), strides, device="meta")
    assert aten.is_strides_like_format.default(x, tl.channels_last) is like
    assert not aten.is_strides_like_format.default(x, tl.channels_last_3d)
    assert aten.is_non_overlapping_and_dense.default(x) is (max(strides) == 60)


def test_aliases_of_written_arguments():
    x, out = boxed(1.0, 2.0), boxed(0.0, 0.0)
    assert tl.exp(x, out=out) is out and out.inner.tolist() == tl.exp(x.inner).tolist()
    assert return_and_correct_aliasing(aten.add_.Tensor, (x, 1), {}, boxed(5.0)) is x


def test_factorizations_whose_codes_nobody_knows():
    x = Boxed(tl.tensor([[2.0, 1.0], [1.0, 3.0]]))
    assert tl.equal(x.inverse().inner, x.inner.inverse())
    assert tl.allclose(tl.linalg.cholesky(x).inner, tl.linalg.cholesky(x.inner))
    with no_dispatch(), pytest.raises(RuntimeError, match="no memory"):
        x.inverse()
