"""From float models to quantized ones."""

import copy

import pytest

import tl_autograd  # noqa: F401 - training
import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_nn import optim
from tl_quantization.nn import intrinsic, quantizable
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.intrinsic import qat as fused_qat
from tl_quantization.nn.intrinsic import quantized as nniq
from tl_quantization.nn.quantized import reference as reference_layers


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
        self.conv, self.bn, self.relu = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()
        self.conv2, self.add = nn.Conv2d(8, 8, 3, padding=1), nnq.FloatFunctional()
        self.pool, self.drop, self.fc, self.out = (
            nn.AdaptiveAvgPool2d(1),
            nn.Dropout(0.1),
            nn.Linear(8, 4),
            nn.Sigmoid(),
        )

    def forward(self, x):
        x = self.relu(self.bn(self.conv(self.quant(x))))
        x = self.add.add_relu(x, self.conv2(x))
        return self.dequant(self.out(self.fc(self.drop(self.pool(x).flatten(1)))))


@pytest.fixture
def x():
    tl.manual_seed(0)
    return tl.randn(16, 3, 8, 8)


@pytest.mark.parametrize("backend", ["fbgemm", "qnnpack"])
def test_static(x, backend):
    model = Net().eval()
    fused = tq.fuse_modules(model, [["conv", "bn", "relu"]])
    fused.qconfig = tq.get_default_qconfig(backend)
    prepared = tq.prepare(fused)
    assert tl.equal(prepared(x), fused(x))
    assert not hasattr(prepared.dequant, "activation_post_process")
    quantized = tq.convert(prepared)
    assert type(quantized.conv) is nniq.ConvReLU2d and type(quantized.fc) is nnq.Linear
    assert type(quantized.add) is nnq.QFunctional and type(quantized.quant) is nnq.Quantize
    assert float((quantized(x) - model(x)).abs().max()) < 0.03
    assert not any(hasattr(m, "qconfig") or hasattr(m, "weight_fake_quant") for m in quantized.modules())
    assert not any(isinstance(m, tq.ObserverBase) for m in quantized.modules())
    assert type(model.conv) is nn.Conv2d


def test_states_of_models(x):
    def converted(scale):
        model = Net().eval()
        model.qconfig = tq.default_qconfig
        prepared = tq.prepare(model)
        prepared(x * scale)
        return tq.convert(prepared)

    one, two = converted(1.0), converted(2.0)
    two.load_state_dict(one.state_dict())
    assert tl.equal(one(x), two(x))


def test_training_with_rounding(x):
    model = Net().train()
    fused = tq.fuse_modules_qat(model, [["conv", "bn", "relu"]])
    assert type(fused.conv) is intrinsic.ConvBnReLU2d
    fused.qconfig = tq.get_default_qat_qconfig("fbgemm")
    prepared = tq.prepare_qat(fused)
    assert type(prepared.conv) is fused_qat.ConvBnReLU2d
    optimizer = optim.SGD(prepared.parameters(), lr=0.3)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = (prepared(x) - 0.3).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    quantized = tq.convert(prepared.eval())
    assert type(quantized.conv) is nniq.ConvReLU2d
    gap = (quantized(x) - prepared(x)).abs()  # the pooling's means are rounded once more
    assert float(gap.mean()) < 0.02 and float(gap.max()) < 0.08
    with pytest.raises(AssertionError, match="training mode"):
        tq.prepare_qat(model.eval())


@pytest.mark.filterwarnings("ignore:must run observer")  # of the results, before the first call
@pytest.mark.parametrize(
    ("layer", "x"),
    [
        (nn.Linear(4, 3), [[1.0] * 4]),
        (nn.Conv2d(2, 3, 1), [[[[1.0] * 4]] * 2]),
    ],
)
def test_weights_are_watched_at_the_end(layer, x):
    """The weight of the last step has been rounded by no call yet; its scales are its own largest magnitudes."""
    model = nn.Sequential(tq.QuantStub(), layer).train()
    model.qconfig = tq.get_default_qat_qconfig("qnnpack")
    prepared = tq.prepare_qat(model)
    unused = tq.convert(prepared.eval())[1].weight()
    assert unused.q_scale() == pytest.approx(float(layer.weight.abs().max()) / 127.5, rel=1e-5)
    prepared(tl.tensor(x))
    with tl.no_grad():
        prepared[1].weight.mul_(0.5)
    record = prepared[1].weight_fake_quant.activation_post_process.max_val.item()
    value = tq.convert(prepared, use_precomputed_fake_quant=True)[1].weight()
    assert prepared[1].weight_fake_quant.activation_post_process.max_val.item() == record
    assert value.q_scale() == pytest.approx(unused.q_scale(), rel=1e-5)
    model_q = tq.convert(prepared)
    assert model_q[1].weight().q_scale() < value.q_scale()
    assert "\n" not in repr(model_q[1])


@pytest.mark.parametrize("dtype", [tq.qint8, tl.float16])
def test_dynamic(dtype):
    tl.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    x = tl.randn(5, 6)
    result = tq.quantize_dynamic(model, dtype=dtype)
    assert float((result(x) - model(x)).abs().max()) < 0.05 and type(model[0]) is nn.Linear
    some = tq.quantize_dynamic(model, {"2": tq.default_dynamic_qconfig})
    assert type(some[0]) is nn.Linear and type(some[2]) is tq.nn.quantized.dynamic.Linear
    by_class = tq.quantize_dynamic(model, {nn.Linear})
    assert type(by_class[0]) is tq.nn.quantized.dynamic.Linear
    with pytest.raises(ValueError, match="full qconfig"):
        tq.quantize_dynamic(model, dtype=tl.int64)


def test_all_at_once(x):
    model = Net()
    model.qconfig = tq.default_qconfig
    result = tq.quantize(model, tq.default_eval_fn, ([(x, None)],))
    assert type(result.conv) is nnq.Conv2d and result(x).shape == (16, 4)
    with pytest.warns(UserWarning, match="None of the submodule got qconfig"):
        trained = tq.quantize_qat(Net().train(), lambda m: m(x), ())
    assert type(trained.conv) is nn.Conv2d  # nothing was configured
    wrapped = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2))
    wrapped[0].qconfig = tq.default_qconfig
    tq.add_quant_dequant(wrapped)
    assert type(wrapped[0]) is tq.QuantWrapper and wrapped(tl.ones(1, 3)).shape == (1, 2)


# what attention does not use is observed by nothing
@pytest.mark.filterwarnings("ignore:must run observer")
@pytest.mark.parametrize("layer", [nn.LSTM(6, 5), nn.MultiheadAttention(6, 2)])
def test_layers_made_of_parts(layer):
    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant, self.inner = tq.QuantStub(), tq.DeQuantStub(), layer

        def forward(self, x):
            x = self.quant(x)
            inputs = (x,) if isinstance(layer, nn.LSTM) else (x, x, x)
            return self.dequant(self.inner(*inputs)[0])

    tl.manual_seed(0)
    model, x = Whole().eval(), tl.randn(7, 3, 6)
    model.qconfig = tq.default_qconfig
    prepared = tq.prepare(model)
    assert type(prepared.inner) is getattr(quantizable, type(layer).__name__)
    prepared(x)
    result = tq.convert(prepared)
    assert type(result.inner) is getattr(nnq, type(layer).__name__)
    assert float((result(x) - model(x)).abs().max()) < 0.08


def test_configurations_go_down(x):
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2)), nn.ReLU())
    one, two = tq.default_qconfig, tq.default_per_channel_qconfig
    tq.propagate_qconfig_(model, {"": one, "1.0": two, nn.ReLU: None})
    assert model[0].qconfig is one and model[1].qconfig is one and model[1][0].qconfig is two
    assert model[2].qconfig is None
    with pytest.warns(UserWarning, match="None of the submodule got qconfig"):
        tq.prepare(nn.Sequential(nn.Linear(2, 2)))


def test_hooks_are_kept():
    calls = []
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).eval()
    model[0].register_forward_pre_hook(lambda m, i: calls.append("before"))
    model[1].register_forward_hook(lambda m, i, o: calls.append("after"))
    fused = tq.fuse_modules(model, ["0", "1"])
    fused.qconfig = tq.default_dynamic_qconfig
    fused(tl.ones(1, 3))
    assert calls == ["before", "after"]
    result = tq.quantize_dynamic(fused, {intrinsic.LinearReLU: tq.default_dynamic_qconfig})
    result(tl.ones(1, 3))
    assert calls == ["before", "after"] * 2


@pytest.mark.parametrize(
    ("layers", "training", "kind"),
    [
        ([nn.Conv1d(1, 2, 3), nn.BatchNorm1d(2)], False, nn.Conv1d),
        ([nn.ConvTranspose2d(1, 2, 3), nn.BatchNorm2d(2)], False, nn.ConvTranspose2d),
        ([nn.Linear(4, 2), nn.BatchNorm1d(2)], False, nn.Linear),
        ([nn.Linear(4, 2), nn.BatchNorm1d(2)], True, intrinsic.LinearBn1d),
        ([nn.BatchNorm2d(2), nn.ReLU()], False, intrinsic.BNReLU2d),
        ([nn.Conv3d(1, 2, 3), nn.BatchNorm3d(2), nn.ReLU()], True, intrinsic.ConvBnReLU3d),
    ],
)
def test_groups_are_fused(layers, training, kind):
    model = nn.Sequential(*layers).train(training)
    fuse = tq.fuse_modules_qat if training else tq.fuse_modules
    result = fuse(model, [str(i) for i in range(len(layers))])
    assert type(result[0]) is kind and all(type(m) is nn.Identity for m in result[1:])
    sizes = {nn.Conv1d: (2, 1, 9), nn.ConvTranspose2d: (2, 1, 5, 5), intrinsic.BNReLU2d: (2, 2, 4, 4),
             intrinsic.ConvBnReLU3d: (2, 1, 5, 5, 5)}  # fmt: skip
    x = tl.randn(sizes.get(kind, (3, 4)))
    assert float((result(x) - model(x)).abs().max()) < 1e-5


def test_what_cannot_be_fused():
    model = nn.Sequential(nn.Linear(2, 2), nn.Conv1d(2, 2, 1), nn.BatchNorm1d(3)).eval()
    with pytest.raises(AssertionError, match="did not find fuser method for: Linear, Conv1d"):
        tq.fuse_modules(model, ["0", "1"])
    with pytest.raises(AssertionError, match="num_features"):
        tq.fuse_modules(model, ["1", "2"])
    with pytest.raises(AssertionError, match="takes layers in evaluation"):
        tq.fuse_modules(nn.Sequential(nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2)), ["0", "1"])


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Linear(6, 4), (5, 6)),
        (nn.Conv2d(3, 4, 3), (2, 3, 6, 6)),
        (nn.ConvTranspose1d(3, 4, 3), (2, 3, 6)),
    ],
)
def test_reference_layers_compute_the_integers_of_their_layers(layer, shape):
    """A reference layer between dequantize and quantize has the results of the integer layer."""
    tl.manual_seed(0)
    x = tl.randn(shape)
    integers = nn.Sequential(tq.QuantStub(), layer, tq.DeQuantStub()).eval()
    stubs = [tq.QuantStub(), tq.DeQuantStub()], [tq.QuantStub(), tq.DeQuantStub()]
    reference = nn.Sequential(*stubs[0], copy.deepcopy(layer), *stubs[1]).eval()
    results = []
    for model, is_reference in ((integers, False), (reference, True)):
        model.qconfig = tq.default_qconfig
        prepared = tq.prepare(model)
        prepared(x)
        converted = tq.convert(prepared, is_reference=is_reference)
        results.append(converted(x))
    assert type(converted[2]) is getattr(reference_layers, type(layer).__name__)
    assert tl.equal(*results)


def test_recurrent_reference_layers():
    model = nn.Sequential(nn.LSTMCell(3, 4))
    model.qconfig = tq.default_qconfig
    cell = tq.convert(tq.prepare(model), is_reference=True)[0]
    assert type(cell) is reference_layers.LSTMCell
    assert cell.weight_ih_dtype is tq.qint8 and cell.get_quantized_weight_hh().dtype is tq.qint8


def test_functions_of_a_known_range_are_observed_in_training_alone():
    model = nn.Sequential(tq.QuantStub(), nn.Sigmoid(), nn.Tanh(), tq.DeQuantStub())
    model.qconfig = tq.default_qconfig
    evaluated = tq.prepare(copy.deepcopy(model).eval())
    assert not any(hasattr(layer, "activation_post_process") for layer in evaluated[1:3])
    assert all(hasattr(layer, "activation_post_process") for layer in tq.prepare(model.train())[1:3])
    evaluated(tl.linspace(-3, 3, 64))
    converted = tq.convert(evaluated)
    assert [type(layer) for layer in converted[1:3]] == [nn.Sigmoid, nn.Tanh]
    result = converted[1](converted[0](tl.zeros(1)))
    assert (result.q_scale(), result.q_zero_point()) == (1 / 256, 0)


class _Observed(nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.conv = conv

    def forward(self, x):
        return self.conv(x)

    @classmethod
    def from_float(cls, module):
        observed = cls(module.conv)
        observed.qconfig = module.qconfig
        return observed


class _Custom(_Observed):
    """A module that a program observes with a class of its own."""


def test_the_result_of_a_custom_module_is_observed_once():
    model = nn.Sequential(tq.QuantStub(), _Custom(nn.Conv2d(1, 1, 1))).eval()
    model.qconfig = tq.default_qconfig
    config = {"float_to_observed_custom_module_class": {_Custom: _Observed}}
    prepared = tq.prepare(model, prepare_custom_config_dict=config)
    assert type(prepared[1]) is _Observed
    assert hasattr(prepared[1], "activation_post_process")
    assert not hasattr(prepared[1].conv, "activation_post_process")
    prepared(tl.ones(1, 1, 2, 2))
    assert prepared[1].activation_post_process.max_val.item() != float("-inf")


def test_a_transposed_convolution_is_refused_when_it_is_prepared():
    model = nn.Sequential(nn.ConvTranspose2d(1, 1, 1))
    model.qconfig = tq.get_default_qconfig("fbgemm")
    with pytest.raises(AssertionError, match="ConvTranspose2d has one scale"):
        tq.prepare(model)
