"""Private and second names of PyTorch that published libraries use."""

import io
import zipfile

import numpy as np
import pytest

import tl
from tl import nn
from tl.distributed.algorithms._checkpoint import checkpoint_wrapper as wrappers
from tl_core.compat import triton_meta


def test_print_options_hold_in_their_region():
    printing = tl._tensor_str
    third = tl.tensor([1 / 3])
    with pytest.raises(KeyError), printing.printoptions(precision=2, sci_mode=True):
        assert repr(third) == "tensor([3.33e-01])"
        raise KeyError
    assert repr(third) == "tensor([0.3333])"
    assert printing._str_intern(third) == printing._str(third) == repr(third)
    assert (
        printing._str(tl.ones(2, dtype=tl.int32), tensor_contents="[..]") == "tensor([..], dtype=torch.int32)"
    )
    assert printing._add_suffixes("tensor(1", ["a=2", "b=3"], 7, True) == "tensor(1,\n       a=2, b=3)"


def test_reductions_by_number():
    reduction = tl.nn.functional._Reduction
    assert reduction is tl.nn._reduction
    assert [reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.warns(UserWarning, match="elementwise_mean"):
        assert reduction.get_enum("elementwise_mean") == 1
    with pytest.raises(ValueError, match="max"):
        reduction.get_enum("max")
    assert reduction.legacy_get_enum(False, True, emit_warning=False) == 2
    assert reduction.legacy_get_enum(None, False, emit_warning=False) == 0


def test_factors_of_precision_matrices():
    functions = tl.distributions.multivariate_normal
    sample = np.random.default_rng(0).standard_normal((3, 4, 4))
    precision = sample @ sample.swapaxes(-1, -2) + np.eye(4)
    factor = functions._precision_to_scale_tril(tl.from_numpy(precision)).numpy()
    np.testing.assert_allclose(factor, np.linalg.cholesky(np.linalg.inv(precision)), atol=1e-12)
    x = np.random.default_rng(1).standard_normal((3, 4))
    distance = functions._batch_mahalanobis(tl.from_numpy(factor), tl.from_numpy(x)).numpy()
    np.testing.assert_allclose(distance, np.einsum("bi,bij,bj->b", x, precision, x), rtol=1e-10)
    product = functions._batch_mv(tl.from_numpy(precision), tl.from_numpy(x)).numpy()
    np.testing.assert_allclose(product, np.einsum("bij,bj->bi", precision, x))
    clipped = tl.distributions.transforms._clipped_sigmoid(tl.tensor([-1e4, 0.0, 1e4])).numpy()
    assert 0 < clipped[0] < 1e-30 and clipped[1] == 0.5 and 1 - 1e-6 < clipped[2] < 1


def test_fillers_without_checks():
    for name, arguments in (("uniform", (2, 3)), ("normal", (2.5, 0.1)), ("trunc_normal", (2.5, 0.1, 2, 3))):
        weight = nn.Parameter(tl.zeros(50))
        assert getattr(tl.nn.init, f"_no_grad_{name}_")(weight, *arguments) is weight
        assert weight.detach().min().item() > 2 and weight.detach().max().item() < 3
    assert tl.nn.init._no_grad_fill_(weight, 3.0).sum() == 150
    assert tl.nn.init._no_grad_zero_(weight).sum() == 0


def test_files_that_are_told_apart(tmp_path):
    serialization = tl.serialization
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "b")
    for data, answer in ((buffer.getvalue(), True), (b"PK", False), (b"", False), (b"\x80\x02x", False)):
        file = io.BytesIO(b"1234" + data)
        file.seek(4)
        assert serialization._is_zipfile(file) is answer and file.tell() == 4
    with serialization._open_file_like(tmp_path / "file", "wb") as file:
        file.write(b"abc")
    assert file.closed and (tmp_path / "file").read_bytes() == b"abc"
    with serialization._open_file_like(buffer, "rb") as file:
        assert file is buffer
    assert not buffer.closed
    with pytest.raises(RuntimeError, match="Expected 'r' or 'w'"), serialization._open_file_like(buffer, "x"):
        pass
    storage = tl.ones(2).untyped_storage()
    assert serialization.default_restore_location(storage, "cpu") is storage


def model():
    tl.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Tanh(), nn.Linear(3, 2)))


def gradients(m, x):
    m(x).square().sum().backward()
    return [p.grad.clone() for p in m.parameters()]


@pytest.mark.parametrize("way", ["NO_REENTRANT", "REENTRANT"])
def test_checkpointed_modules(way):
    x = tl.ones(2, 3, requires_grad=True)
    plain, wrapped = model(), model()
    names = list(plain.state_dict())
    runs = []
    wrapped[1][0].register_forward_hook(lambda *_: runs.append(1))
    wrappers.apply_activation_checkpointing(
        wrapped,
        lambda m: wrappers.checkpoint_wrapper(m, wrappers.CheckpointImpl[way]),
        check_fn=lambda m: isinstance(m, nn.Sequential),
    )
    assert isinstance(wrapped[1], wrappers.CheckpointWrapper) and isinstance(wrapped[0], nn.Linear)
    assert isinstance(wrapped[1], wrappers.ActivationWrapper) and isinstance(wrapped[1][0], nn.Tanh)
    for own, other in zip(gradients(wrapped, x), gradients(plain, x), strict=True):
        assert tl.equal(own, other)
    assert len(runs) == 2
    assert list(wrapped.state_dict()) == names
    assert wrapped.load_state_dict(plain.state_dict()).missing_keys == []
    assert [name for name, _ in wrapped[1].named_parameters()] == ["1.weight", "1.bias"]


def test_wrappers_take_keywords_policies_and_functions():
    class Scale(nn.Module):
        def forward(self, x, *, by=1.0):
            return x * by

    x = tl.ones(2, requires_grad=True)
    for way in wrappers.CheckpointImpl:
        assert wrappers.checkpoint_wrapper(Scale(), way)(x, by=3.0).sum() == 6
    arguments = []

    def call(module, *args, note, **kwargs):
        arguments.append(note)
        return module(*args, **kwargs)

    assert wrappers.checkpoint_wrapper(Scale(), checkpoint_fn=call, note="n")(x, by=2.0).sum() == 4
    assert arguments == ["n"]
    m = model()
    wrappers.apply_activation_checkpointing(
        m,
        wrappers.offload_wrapper,
        auto_wrap_policy=lambda module, recurse, nonwrapped_numel: nonwrapped_numel >= 12,
    )
    assert isinstance(m[0], wrappers.OffloadWrapper) and not isinstance(m[1], wrappers.OffloadWrapper)
    for own, other in zip(gradients(m, x.new_ones(2, 3)), gradients(model(), x.new_ones(2, 3)), strict=True):
        assert tl.equal(own, other)
    with pytest.raises(ValueError, match="implement"):
        wrappers.ActivationWrapper(Scale())(x)


def test_second_names():
    distributed = tl.distributed
    assert distributed.distributed_c10d._get_default_group.__name__ == "default_group"
    with pytest.raises(ValueError, match="not been initialized"):
        distributed.distributed_c10d._get_default_group()
    assert distributed._all_gather_base is distributed.all_gather_into_tensor
    assert distributed._reduce_scatter_base is distributed.reduce_scatter_tensor
    assert tl.utils.cpp_extension.HIP_HOME is None
    assert tl.utils.data.dataloader._collate_fn_t


def test_operators_that_take_functions_are_functions(execute):
    program = """
import {}tl, tl.torch
tl.torch.install()
import torch._higher_order_ops.while_loop, torch._higher_order_ops.cond, torch._higher_order_ops.scan
from torch._higher_order_ops import while_loop, cond, scan, map, associative_scan
from torch._higher_order_ops.while_loop import while_loop as same
from torch._higher_order_ops.cond import cond as branch
import torch
assert same is while_loop and branch is cond is torch.cond
x = torch.ones(2)
assert cond(x.sum() > 1, lambda x: x + 1, lambda x: x, (x,)).tolist() == [2, 2]
assert while_loop(lambda i: i < 5, lambda i: (i + 1,), (torch.tensor(0),))[0] == 5
assert map(lambda t: t * 2, x).tolist() == [2, 2]
assert torch._higher_order_ops.cond is cond
"""
    for first in ("", "tl_compiler.higher_order.cond, ", "tl_compiler.higher_order.loops, "):
        assert execute(program.format(first)) == ""


def test_methods_that_were_removed_say_what_to_call():
    for name in ("eig", "lstsq", "solve", "symeig"):
        with pytest.raises(RuntimeError, match=r"deprecated since version 1.9 and is now removed.*linalg"):
            getattr(tl.eye(2), name)()


def test_checks_that_raise_an_error_of_choice():
    tl._check_with(KeyError, True)
    with pytest.raises(KeyError, match="why"):
        tl._check_with(KeyError, False, lambda: "why")
    tl._check_tensor_all_with(IndexError, tl.tensor([True, True]))
    with pytest.raises(IndexError, match="some"):
        tl._check_tensor_all_with(IndexError, tl.tensor([True, False]), lambda: "some")
    with pytest.raises(RuntimeError, match="some"):
        tl._check_tensor_all(tl.tensor([True, False]), lambda: "some")


def test_small_helpers():
    norms = tl._foreach_norm([tl.tensor([[3.0, 4.0]]), tl.zeros(0)])
    assert [n.item() for n in norms] == [5.0, 0.0]
    assert tl._foreach_norm([tl.tensor([-3.0, 4.0])], float("inf"), tl.float64)[0].item() == 4.0
    assert tl.nn.modules.module._addindent("a\nb\n c", 2) == "a\n  b\n   c"
    assert "cuda" in tl.optim.optimizer._get_capturable_supported_devices()
    assert tl.has_cuda is tl._C.has_cuda is tl.has_mps is tl.has_cudnn is False and tl.has_spectral is True
    assert tl._C._get_cudnn_enabled() is tl.backends.cudnn.enabled
    with pytest.warns(FutureWarning, match="_ConvTransposeMixin"):
        layer = Transposed(1, 2, 3)
    assert layer(tl.ones(1, 1, 4)).shape == (1, 2, 6)


class Transposed(nn.modules.conv._ConvTransposeMixin):
    _dims, _function = 1, "conv_transpose1d"


def test_spellings_of_pytree(execute):
    program = """
import tl.torch
tl.torch.install()
import torch, torch.utils._cxx_pytree as cxx
from torch.utils._cxx_pytree import tree_map
from torch.utils import _pytree
assert cxx is _pytree and tree_map(lambda x: x + 1, {"a": (1, 2)}) == {"a": (2, 3)}
assert torch.while_loop(lambda i: i < 3, lambda i: (i + 1,), (torch.tensor(0),))[0] == 3
"""
    assert execute(program) == ""


def test_names_that_torchao_imports():
    assert tl.version.git_version  # without it, torchao takes the build for Meta's own
    kernel = ("_scaled_mm", "cpu", (0, tl.int8, 0.5))
    table = triton_meta  # `torch.sparse._triton_ops_meta` in programs that import torch
    assert table.get_meta(kernel[0], (8, 8), *kernel[1:]) is None
    table.update(*kernel, (8, 8), {"GROUP_SIZE": 4})
    assert table.get_meta(kernel[0], (8, 8), *kernel[1:]) == {"GROUP_SIZE": 4}
    with pytest.raises(NotImplementedError, match="GPU"):
        table.minimize(print, {}, {}, None)
    kind = tl.sparse.SparseSemiStructuredTensorCUSPARSELT
    assert issubclass(kind, tl.sparse.SparseSemiStructuredTensor)
    with pytest.raises(NotImplementedError, match="cusparselt needs a GPU"):
        kind.from_dense(tl.ones(64, 64))
    assert tl.ops.c10d_functional.wait_tensor is tl.ops._c10d_functional.wait_tensor


def test_decompositions_are_entered_into_the_table_of_the_code_generator():
    from tl._inductor import decomposition

    @decomposition.register_decomposition([tl.ops.aten.relu.default])
    def relu(x):
        return x.clamp(min=0)

    assert decomposition.decompositions.pop(tl.ops.aten.relu.default) is relu
