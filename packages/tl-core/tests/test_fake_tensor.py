"""FakeTensor: sizes, types and devices without memory."""

import copy
import gc
import pickle
from typing import ClassVar

import pytest

import tl_core as tl
from tl_core import _C
from tl_core.operators.packets import aten
from tl_core.subclasses import (
    CrossRefFakeMode,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from tl_core.subclasses.fake_converter import FakeCopyMode
from tl_core.subclasses.fake_mode import unset_fake_temporarily
from tl_core.subclasses.fake_tensor import (
    DataDependentOutputException,
    UnsupportedOperatorException,
    is_fake,
    maybe_get_fake_mode,
)
from tl_core.subclasses.fake_utils import try_convert_fake_to_real
from tl_core.subclasses.meta_utils import MetaConverter, assert_eq, assert_metadata_eq
from tl_core.subclasses.python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode_stack,
    no_dispatch,
)


def like(real, fake):
    assert isinstance(fake, FakeTensor)
    assert (real.shape, real.stride(), real.dtype, real.device) == (
        fake.shape,
        fake.stride(),
        fake.dtype,
        fake.device,
    )


CALLS = [
    lambda x: x + 1,
    lambda x: x @ x.t(),
    lambda x: x.sum(1, keepdim=True),
    lambda x: x.t().contiguous().view(-1),
    lambda x: tl.cat([x, x * 2], 1),
    lambda x: x[0, 1:],
    lambda x: x[:, [0, 2]],
    lambda x: x.topk(2).values,
    lambda x: x.split(2, 1)[1],
    lambda x: tl.where(x > 0, x, 0.0),
    lambda x: x.to(tl.float16),
    lambda x: x.int().cumsum(0),
    lambda x: x.softmax(1).argmax(1),
    lambda x: tl.zeros_like(x, dtype=tl.int64),
    lambda x: x.new_ones(3, 4),
    lambda x: x.clone().mul_(3),
    lambda x: tl.stack(x.unbind()),
    lambda x: x.unsqueeze(0).expand(5, 3, 4),
    lambda x: x.sort(1).indices,
    lambda x: tl.arange(6).reshape(2, 3).float(),
    lambda x: tl.rand(2, 3) + tl.randn(3),
    lambda x: tl.eye(3),
    lambda x: tl.div(x, 3, rounding_mode="floor"),
]


@pytest.mark.parametrize("call", CALLS)
def test_results_are_like_real_ones(call):
    real = tl.arange(12.0).view(3, 4)
    with FakeTensorMode() as mode:
        fake = call(mode.from_tensor(real))
    like(call(real), fake)


def test_outside_of_the_mode():
    with FakeTensorMode() as mode:
        x = tl.empty(2, 3)
    y = x + x
    like(tl.empty(2, 3), y)
    assert y.fake_mode is mode and not _get_current_dispatch_mode_stack()


def test_no_memory():
    pytest.importorskip("numpy")
    with FakeTensorMode():
        x = tl.empty(1 << 40, 1 << 10)
        y = (x @ x.t()[:, :8]).sum(0)
    assert y.shape == (8,)
    for read in (x.numpy, x.data_ptr):
        with pytest.raises(RuntimeError, match=r"storage|memory"):
            read()


def test_errors_of_shapes_are_those_of_real_tensors():
    with FakeTensorMode():
        with pytest.raises(RuntimeError):
            tl.empty(2, 3) @ tl.empty(2, 3)
        with pytest.raises(IndexError):
            tl.empty(2).sum(3)
    assert not _get_current_dispatch_mode_stack()


def test_writes_and_views():
    with FakeTensorMode():
        x = tl.zeros(2, 3)
        assert x.add_(1) is x and x._version == 1
        view = x.view(6)
        assert view._is_view() and view._base is x and _C._is_alias_of(view, x)
        view.mul_(2)
        assert x._version == 2
        out = tl.empty(0)
        assert tl.add(x, x, out=out) is out and out.shape == (2, 3)
        assert x.t_() is x and x.shape == (3, 2) and x.stride() == (1, 3)
        x.resize_(4, 4)
        assert x.shape == (4, 4)


def test_written_out():
    with FakeTensorMode():
        assert repr(tl.empty(2, 2)) == "FakeTensor(..., size=(2, 2))"
        assert repr(tl.empty(2, 2, device="meta")) == "FakeTensor(..., device='meta', size=(2, 2))"
        assert "dtype=torch.int32" in repr(tl.empty(2, dtype=tl.int32))


def test_real_tensors_are_written_out_inside():
    x = tl.zeros(2)
    with FakeTensorMode():
        assert str(x) == "tensor([0., 0.])"


# ---- real tensors
def test_real_tensors_are_refused():
    x = tl.ones(2, 2)
    with FakeTensorMode() as mode:
        with pytest.raises(
            AssertionError, match=r"Please convert all Tensors to FakeTensors first .* aten\.select\.int"
        ):
            x[0]
        with pytest.raises(AssertionError, match="Please convert all Tensors"):
            mode.from_tensor(x) + x
    with FakeTensorMode(allow_non_fake_inputs=True):
        like(x, x + 1)


def test_from_tensor():
    mode = FakeTensorMode()
    x = tl.ones(2, 3, dtype=tl.int32)
    fake = mode.from_tensor(x)
    like(x, fake)
    assert mode.from_tensor(x) is fake and mode.from_tensor(fake) is fake
    view = x.t()[1:]
    fake_view = mode.from_tensor(view)
    like(view, fake_view)
    assert fake_view.storage_offset() == view.storage_offset() and _C._is_alias_of(fake_view, fake)
    other = FakeTensorMode().from_tensor(fake)
    assert other.fake_mode is not mode and other.shape == fake.shape


def test_what_was_converted_may_die():
    mode = FakeTensorMode()
    x = tl.ones(2, 3)
    fake = mode.from_tensor(x)
    converter = mode.fake_tensor_converter
    assert len(converter.tensor_memo) == 1 and len(converter.meta_converter.storage_memo) == 1
    del x
    gc.collect()
    assert len(converter.meta_converter.storage_memo) == 0
    y = tl.ones(5)
    assert not _C._is_alias_of(mode.from_tensor(y), fake)


def test_modes_do_not_mix():
    with FakeTensorMode():
        x = tl.empty(2)
    with FakeTensorMode():
        y = tl.empty(2)
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        x + y


def test_nested_modes_replace_each_other():
    with FakeTensorMode() as outer:
        with FakeTensorMode() as inner:
            assert tl.empty(2).fake_mode is inner
            with inner:
                assert tl.empty(2).fake_mode is inner
            assert tl.empty(2).fake_mode is inner
        assert tl.empty(2).fake_mode is outer
        with unset_fake_temporarily() as mode:
            assert mode is outer and type(tl.empty(2)) is tl.Tensor
        assert tl.empty(2).fake_mode is outer
    assert type(tl.empty(2)) is tl.Tensor


def test_modes_of_programs_stand_above():
    class Seen(TorchDispatchMode):
        kinds: ClassVar[list] = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            self.kinds.append((func, type(out)))
            return out

    with Seen() as records, FakeTensorMode():
        tl.ones(2)
    assert records.kinds == [(aten.ones.default, FakeTensor)]


# ---- what depends on elements
@pytest.mark.parametrize(
    "read",
    [lambda x: x.sum().item(), lambda x: bool(x.sum() > 0), lambda x: x.tolist(), lambda x: tl.equal(x, x)],
)
def test_numbers_are_not_known(read):
    with FakeTensorMode():
        x = tl.rand(4)
        with pytest.raises(DataDependentOutputException, match="depends on elements"):
            read(x)


@pytest.mark.parametrize(
    "call",
    [lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: tl.masked_select(x, x > 0), lambda x: x.unique()],
)
def test_shapes_are_not_known(call):
    with FakeTensorMode():
        x = tl.rand(4)
        with pytest.raises(DynamicOutputShapeException, match="shape of the result depends"):
            call(x)


def test_small_numbers_are_known():
    with FakeTensorMode():
        x = tl.tensor(4.0)
        assert isinstance(x, FakeTensor) and x.item() == 4.0
        y = x.add_(1)
        assert y is x and x.item() == 5.0 and (x * 2 > 9).item() is True
        assert tl.div(4, 4, rounding_mode="trunc").item() == 1
        assert tl.tensor([3])[0].item() == 3


def test_unknown_writes_make_them_unknown():
    with FakeTensorMode():
        x = tl.tensor([1.0])
        y = x[:]
        assert x.constant is not None and y.constant is not None
        y.add_(tl.rand(1))
        assert x.constant is None and y.constant is None
        x = tl.tensor([1])
        x.resize_(2)
        assert x.shape == (2,) and x.constant is None
        x = tl.tensor([1])
        y = x.expand(4)
        assert y.constant is None
        y[0] = 1
        assert x.constant is None
        assert tl.tensor([1.0, 2.0]).constant is None


# ---- devices
def test_devices_are_claims():
    with FakeTensorMode():
        x = tl.empty(2, 3, device="cuda")
        assert x.device == tl.device("cuda", 0) and x.is_cuda and x.fake_device == x.device
        y = tl.zeros(2, 3)
        assert (x + x).device.type == "cuda" and tl.zeros_like(x).device.type == "cuda"
        assert (x + tl.tensor(1.0)).device.type == "cuda"
        with pytest.raises(RuntimeError, match=r"found two different devices"):
            x + y
        assert y.to("cuda").device.type == "cuda" and x.cpu().device.type == "cpu" and y.to("cpu") is y
        assert y.copy_(x).device.type == "cpu"
        assert x[tl.zeros(4, dtype=tl.int64)].device.type == "cuda"
        assert tl.ones_like(y, device="cuda").device.type == "cuda"
        meta = tl.empty(2, device="meta")
        assert (meta + meta).device.type == "meta"


# ---- the rest
def test_arrays_become_fakes():
    numpy = pytest.importorskip("numpy")
    with FakeTensorMode() as mode:
        like(tl.zeros(4, 4, dtype=tl.float64), tl.tensor(numpy.zeros((4, 4))))
        like(tl.zeros(3, dtype=tl.int64), tl.tensor([1, 2, 3]))
        like(tl.ones(2, 3), mode.from_tensor(tl.ones(4, 3))[[0, 1]])


def test_geometries_are_read_without_a_handler():
    with FakeTensorMode():
        x = tl.empty(2, 3)
    with no_dispatch():
        assert tl.zeros_like(x).tolist() == [[0.0] * 3] * 2 and x.new_ones(2).tolist() == [1.0, 1.0]


def test_fallback_to_real_memory():
    def unknown(*args):
        raise NotImplementedError

    with FakeTensorMode(allow_fallback_kernels=False):
        x = tl.rand(3, 3)
        with pytest.raises(UnsupportedOperatorException):
            tl.histc(x, 4)
    with FakeTensorMode(allow_fallback_kernels=True):
        assert tl.histc(tl.rand(3, 3), 4).shape == (4,)


def test_parameters():
    with FakeTensorMode() as mode:
        p = tl.Parameter(tl.rand(4), requires_grad=False)
    assert isinstance(p, tl.Parameter) and isinstance(p, FakeTensor)
    real = tl.Parameter(tl.ones(2), requires_grad=False)
    assert isinstance(mode.from_tensor(real), tl.Parameter)


def test_copies():
    with FakeTensorMode() as mode:
        x = tl.empty(2, 3)
        again = copy.deepcopy(x)
    assert again.fake_mode is mode and again is not x and not _C._is_alias_of(again, x)
    with FakeCopyMode(mode):
        fake = copy.deepcopy([tl.ones(2), tl.ones(3)])
    assert [type(t) for t in fake] == [FakeTensor] * 2 and fake[1].shape == (3,)
    back = pickle.loads(pickle.dumps(x))
    assert isinstance(back, FakeTensor) and back.shape == (2, 3)


def test_who_is_fake():
    with FakeTensorMode() as mode:
        x = tl.empty(2)
    assert is_fake(x) and not is_fake(tl.ones(2)) and not is_fake(3)
    assert maybe_get_fake_mode([{"x": x}]) is mode and maybe_get_fake_mode(tl.ones(2)) is None


def test_back_to_real_tensors():
    x = tl.arange(20.0)
    with FakeTensorMode() as mode:
        part = mode.from_tensor(x)[3:7]
        nothing = tl.empty(2)
    real, still = try_convert_fake_to_real([part, nothing])
    assert real.tolist() == [3.0, 4.0, 5.0, 6.0] and still is nothing


def test_cross_references():
    with CrossRefFakeMode():
        x = tl.arange(6.0).view(2, 3)
        assert (x @ x.t()).softmax(1).sum().item() > 0
        x[x > 2] = 1.0


def test_meta_converter():
    x = tl.ones(2, 3).t()
    convert = MetaConverter()
    result = convert(x)
    assert result.is_meta and convert(x) is result and convert(3) == 3
    assert_metadata_eq(assert_eq, x, result)
    with pytest.raises(AssertionError, match="!="):
        assert_metadata_eq(assert_eq, x, tl.ones(1))
    assert convert(x, callback=lambda make: make() + 1).shape == x.shape


def test_modes_and_fakes_are_let_go():
    with FakeTensorMode() as mode:
        x = tl.empty(2)
    import weakref

    ref = weakref.ref(mode)
    del mode, x
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("accumulate", [True, False])
def test_writing_where_a_mask_holds(accumulate):
    with FakeTensorMode():
        x, mask = tl.zeros(3, 4), tl.zeros(3, dtype=tl.bool)
        out = x.index_put((mask,), tl.ones(2, 4), accumulate)
        assert out.shape == (3, 4) and out is not x
        x[mask] = tl.ones(1, 4)
        assert x.index_put_((mask,), tl.ones(4)) is x


def test_kernels_that_read_their_arguments_leave_fakes_alone():
    with FakeTensorMode():
        x, index = tl.zeros(3, 4), tl.zeros(2, dtype=tl.int64)
        assert x.index_copy(0, index, tl.ones(2, 4)).shape == (3, 4)
        assert tl.cdist(x, tl.zeros(5, 4)).shape == (3, 5)
