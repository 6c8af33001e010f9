"""Functions that change weights of modules: fusion, norms, pruning, samples' gradients."""

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F
from tl_nn.parameter import UninitializedTensorMixin, is_lazy
from tl_nn.utils import clip_grad, fusion, parametrizations, parametrize, prune, pruning_methods, rnn
from tl_nn.utils.expanded_weights import ExpandedWeight, expanded_weights_utils
from tl_nn.utils.spectral_norm import SpectralNorm
from tl_nn.utils.weight_norm import WeightNorm


def norm_of(kind):
    norm = kind(2).double().eval()
    norm.load_state_dict(
        {
            "weight": tl.tensor([2.0, -1.0]),
            "bias": tl.tensor([0.5, 3.0]),
            "running_mean": tl.tensor([1.0, -2.0]),
            "running_var": tl.tensor([4.0, 0.25]),
            "num_batches_tracked": tl.tensor(1),
        }
    )
    return norm


def test_fusion():
    tl.manual_seed(0)
    x = tl.randn(2, 3, 5, 5, dtype=tl.float64)
    conv, norm = nn.Conv2d(3, 2, 3).double().eval(), norm_of(nn.BatchNorm2d)
    assert tl.allclose(fusion.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)))
    conv = nn.ConvTranspose2d(3, 2, 3, bias=False).double().eval()
    assert tl.allclose(fusion.fuse_conv_bn_eval(conv, norm, transpose=True)(x), norm(conv(x)))
    linear, norm = nn.Linear(5, 2).double().eval(), norm_of(nn.BatchNorm1d)
    assert tl.allclose(fusion.fuse_linear_bn_eval(linear, norm)(x[0, 0]), norm(linear(x[0, 0])))
    with pytest.raises(AssertionError, match="num_features"):
        fusion.fuse_linear_bn_eval(nn.Linear(5, 3).eval(), norm)
    with pytest.raises(AssertionError):
        fusion.fuse_linear_bn_eval(linear.train(), norm)


def layer(*rows, bias=False):
    result = nn.Linear(len(rows[0]), len(rows), bias=bias)
    result.weight.data.copy_(tl.tensor(rows))
    return result


def test_norms():
    matrix = tl.tensor([[3.0, 4.0], [0.0, 2.0]])
    assert parametrizations.norm_except(matrix, 0).tolist() == [[5], [2]]
    assert parametrizations.norm_except(matrix, -1).item() == pytest.approx(29**0.5)
    assert parametrizations.norm_except(tl.tensor([-3.0, 4.0]), 0).tolist() == [3, 4]
    assert parametrizations.unit(tl.tensor([3.0, 4.0]), 1e-12).tolist() == pytest.approx([0.6, 0.8])
    assert parametrizations.default_dim(nn.Conv2d(1, 1, 1)) == 0
    assert parametrizations.default_dim(nn.ConvTranspose2d(1, 1, 1)) == 1


def test_weight_norm():
    linear = layer([3.0, 4.0], [0.0, 2.0])
    hook = WeightNorm.apply(linear, "weight", 0)
    assert linear.weight_g.tolist() == [[5], [2]]
    linear.weight_g.data.fill_(10.0)
    assert linear(tl.eye(2)).T.flatten().tolist() == pytest.approx([6, 8, 0, 10])
    with pytest.raises(RuntimeError, match="two weight_norm hooks"):
        WeightNorm.apply(linear, "weight", 0)
    hook.remove(linear)
    assert isinstance(linear.weight, nn.Parameter) and linear.weight.tolist() == [[6, 8], [0, 10]]


def test_spectral_norm():
    linear = layer([3.0, 0.0], [0.0, 2.0])
    hook = SpectralNorm.apply(linear, "weight", 50, 0, 1e-12)
    linear(tl.zeros(2))
    assert np.linalg.svd(linear.weight.detach().numpy())[1].tolist() == pytest.approx([1, 2 / 3], rel=1e-5)
    assert hook.reshape_weight_to_matrix(tl.zeros(2, 3, 4)).shape == (2, 12)
    with pytest.raises(ValueError, match="to be positive"):
        SpectralNorm("weight", 0)


def test_parametrizations():
    class Double(nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    each = parametrize.ParametrizationList([Double(), Double()], tl.tensor([8.0]))
    assert each.original.tolist() == [2] and each().tolist() == [8]
    with pytest.raises(ValueError, match="one or more modules"):
        parametrize.ParametrizationList([], tl.ones(1))


def test_pruning():
    linear = layer([0.1, -2.0, 3.0, -0.2], [0.1, 1.0, 1.0, 0.3])
    prune.ln_structured(linear, "weight", amount=1, n=2, dim=1)
    assert linear.weight_mask.tolist() == [[0, 1, 1, 1]] * 2
    pruning_methods.LnStructured.apply(linear, "weight", 1, 1, 1)
    assert linear.weight_mask.tolist() == [[0, 1, 1, 0]] * 2
    pruning_methods.CustomFromMask.apply(linear, "weight", tl.tensor([[1, 0, 1, 1], [1, 1, 1, 1]]))
    assert linear.weight_mask.tolist() == [[0, 0, 1, 0], [0, 1, 1, 0]]
    assert linear.weight.tolist() == [[0, 0, 3, 0], [0, 1, 1, 0]]
    with pytest.raises(AssertionError, match="must match"):
        pruning_methods.CustomFromMask(tl.ones(1)).compute_mask(tl.ones(2), tl.ones(2))
    linear = layer([1.0] * 10)
    pruning_methods.RandomUnstructured.apply(linear, "weight", 0.3)
    assert linear.weight_mask.sum().item() == 7 and linear.weight.sum().item() == 7


def test_method_of_pruning():
    class Last(pruning_methods.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask[..., -1] = 0
            return mask

    assert Last().prune(tl.tensor([1.0, 2.0])).tolist() == [1, 0]
    with pytest.raises(TypeError):
        pruning_methods.BasePruningMethod()


def test_gradients_with_a_norm():
    weight = nn.Parameter(tl.zeros(2))
    weight.grad = tl.tensor([3.0, 4.0])
    clip_grad.clip_grads_with_norm_(weight, 2.5, tl.tensor(5.0))
    assert weight.grad.tolist() == pytest.approx([1.5, 2])
    clip_grad.clip_grads_with_norm_([weight], 100.0, tl.tensor(2.5))
    assert weight.grad.tolist() == pytest.approx([1.5, 2])


def test_permutations():
    permutation = tl.tensor([2, 0, 3, 1])
    assert rnn.invert_permutation(permutation).tolist() == np.argsort([2, 0, 3, 1]).tolist()
    assert rnn.invert_permutation(None) is None


def test_lazy_parameters():
    lazy = nn.LazyLinear(2)
    assert isinstance(lazy.weight, UninitializedTensorMixin) and is_lazy(lazy.weight)
    with pytest.raises(RuntimeError, match="uninitialized"):
        print(lazy.weight.shape)
    lazy.weight.materialize((2, 3))
    assert lazy.weight.shape == (2, 3) and not is_lazy(lazy.weight)


def expanded(weight, batch_first=True):
    result = ExpandedWeight(weight, 3, "sum")
    result.batch_first = batch_first
    return result


def test_samples():
    utils, weight = expanded_weights_utils, tl.tensor([[1.0, 2.0]], requires_grad=True)
    x = tl.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert utils.forward_helper(F.linear, (x, expanded(weight)), {}).flatten().tolist() == [1, 2, 3]
    utils.check_batch(F.linear, x, [expanded(weight)])
    for wrong in (x[:2], tl.ones(()), x[:0], 3, expanded(weight)):
        with pytest.raises(RuntimeError):
            utils.check_batch(F.linear, wrong, [expanded(weight)])
    assert utils.is_batch_first([]) and not utils.is_batch_first([1, expanded(weight, batch_first=False)])
    with pytest.raises(RuntimeError, match="conflicting"):
        utils.is_batch_first([expanded(weight), expanded(weight, batch_first=False)])


def test_gradients_of_samples():
    utils, weight = expanded_weights_utils, tl.tensor([1.0], requires_grad=True)
    for total in (2, 4):
        utils.set_grad_sample_if_exists(expanded(weight), lambda w: w.detach().expand(3, 1) * 2)
        assert weight.grad_sample.tolist() == [[total]] * 3
    assert utils.unpack_expanded_weight_or_tensor(expanded(weight), lambda w: w is weight) is True
    assert utils.unpack_expanded_weight_or_tensor(3) is None
    with pytest.raises(RuntimeError, match="mixture"):
        utils.unpack_expanded_weight_or_tensor(weight)
    x = np.arange(24.0).reshape(2, 3, 4)
    sums = utils.sum_over_all_but_batch_and_last_n(tl.tensor(x), 1)
    assert sums.tolist() == x.sum(1).tolist()
    assert utils.standard_kwargs(("bias",), (1, 2, 3)) == ((1, 2), {"bias": 3})
