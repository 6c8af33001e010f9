"""Functions on modules: sequences of different lengths, calls with other parameters, memory formats, fusion."""

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn import func
from tl_nn.utils import fusion, rnn, stateless

SEQUENCES = [[1.0, 2.0], [3.0, 4.0, 5.0], [6.0]]


def tensors():
    return [tl.tensor(sequence) for sequence in SEQUENCES]


def test_padding():
    assert rnn.pad_sequence(tensors(), batch_first=True).tolist() == [[1, 2, 0], [3, 4, 5], [6, 0, 0]]
    assert rnn.pad_sequence(tensors(), padding_value=-1).tolist() == [[1, 3, 6], [2, 4, -1], [-1, 5, -1]]
    left = rnn.pad_sequence(tensors(), True, padding_side="left")
    assert left.tolist() == [[0, 1, 2], [3, 4, 5], [0, 0, 6]]
    back = rnn.unpad_sequence(rnn.pad_sequence(tensors()), tl.tensor([2, 3, 1]))
    assert [each.tolist() for each in back] == SEQUENCES


def test_packing_unsorted_sequences():
    packed = rnn.pack_sequence(tensors(), enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 6, 4, 2, 5] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.unsorted_indices.tolist() == [1, 0, 2]
    assert [each.tolist() for each in rnn.unpack_sequence(packed)] == SEQUENCES
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=9, total_length=4)
    assert padded.tolist() == [[1, 2, 9, 9], [3, 4, 5, 9], [6, 9, 9, 9]] and lengths.tolist() == [2, 3, 1]


def test_gradients_pass_through_packing():
    padded = tl.ones(2, 3, requires_grad=True)
    packed = rnn.pack_padded_sequence(padded, [3, 1], batch_first=True)
    back, _ = rnn.pad_packed_sequence(packed, batch_first=True)
    (back * 2).sum().backward()
    assert padded.grad.tolist() == [[2, 2, 2], [2, 0, 0]]


def test_packed_sequences_convert():
    packed = rnn.pack_sequence(tensors(), enforce_sorted=False)
    assert packed.double().data.dtype == tl.float64 and packed.float() is packed
    assert packed.int().data.dtype == tl.int32 and not packed.is_cuda
    assert isinstance(packed, tuple) and packed[1] is packed.batch_sizes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rnn.pack_sequence(tensors()), "sorted in decreasing order"),
        (lambda: rnn.pack_padded_sequence(tl.ones(2, 2), [2, 0]), "has to be greater than 0"),
        (lambda: rnn.pack_padded_sequence(tl.ones(2, 2), [2]), "equal to batch_size"),
        (lambda: rnn.pack_padded_sequence(tl.ones(2, 2), [3, 1]), "lengths of at most 2"),
        (lambda: rnn.pack_padded_sequence(tl.ones(0, 2), [1, 1]), "Cannot pack empty tensors"),
        (lambda: rnn.pad_sequence(3), "Expected iterable"),
        (lambda: rnn.pad_sequence([]), "empty list of sequences"),
        (lambda: rnn.pad_sequence(tensors(), padding_side="top"), "left or right"),
    ],
)
def test_sequence_faults(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_padding_shorter_than_the_longest():
    with pytest.raises(ValueError, match="at least the length of the longest sequence"):
        rnn.pad_packed_sequence(rnn.pack_sequence(tensors(), False), total_length=2)


# Other parameters


call = func.functional_call


def test_the_older_name_warns():
    with pytest.warns(FutureWarning, match="Please use `torch.func.functional_call`"):
        assert stateless.functional_call(nn.Identity(), {}, tl.ones(1)).tolist() == [1.0]


def test_another_set_of_tensors_within_a_context():
    shared = nn.Linear(1, 1, bias=False)
    net = nn.Sequential(shared, shared, nn.BatchNorm1d(1))
    own = dict(net.named_parameters())
    state = {"0.weight": tl.tensor([[2.0]]), "2.running_mean": tl.zeros(1)}
    with stateless._reparametrize_module(net, state, tie_weights=True):
        assert net[1].weight is state["0.weight"]
        with stateless._reparametrize_module(net, {"0.weight": tl.tensor([[5.0]])}, stack_weights=True):
            assert shared.weight.item() == 5.0
        assert shared.weight.item() == 2.0
        net[2].running_mean = tl.ones(1)
    assert dict(net.named_parameters()) == own
    assert state["2.running_mean"].tolist() == [1.0]
    with (
        pytest.raises(RuntimeError, match="Missing key"),
        stateless._reparametrize_module(net, state, strict=True),
    ):
        pass


def test_several_dictionaries():
    layer = nn.Linear(1, 1)
    weight, bias = {"weight": tl.tensor([[2.0]])}, {"bias": tl.tensor([1.0])}
    assert call(layer, (weight, bias), tl.ones(1)).tolist() == [3.0]
    with pytest.raises(ValueError, match=r"\['weight'\] appeared in multiple dictionaries"):
        call(layer, [weight, weight], tl.ones(1))


def test_a_call_with_other_parameters():
    model = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    before = model[0].weight
    out = call(model, {"0.weight": tl.tensor([[2.0]]), "0.bias": tl.tensor([1.0])}, (tl.ones(1),))
    assert out.tolist() == [3.0] and model[0].weight is before
    assert call(model, {"0.height": tl.ones(1)}, tl.ones(1)).shape == (1,) and not hasattr(model[0], "height")
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): '0.height'.\s+Missing key\(s\): '0.bias'"):
        call(model, {"0.weight": tl.ones(1, 1), "0.height": tl.ones(1)}, tl.ones(1), strict=True)


def test_plain_attributes_are_exchanged_for_a_call():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.by = tl.ones(1)

        def forward(self):
            return self.by * 2

    model = Scaled()
    before = model.by
    assert call(model, {"by": tl.tensor([3.0])}, ()).tolist() == [6.0] and model.by is before


def test_parameters_come_back_after_an_error():
    layer = nn.Linear(1, 1)
    before = layer.weight
    with pytest.raises(RuntimeError):
        call(layer, {"weight": tl.ones(5, 7)}, tl.ones(1))
    assert layer.weight is before


def test_buffers_changed_in_the_call_are_handed_on():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", tl.tensor(0.0))

        def forward(self):
            self.count = self.count + 1

    module, tensors = Counter(), {"count": tl.tensor(5.0)}
    call(module, tensors)
    assert tensors["count"].item() == 6.0 and module.count.item() == 0.0


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(tl.ones(1))
            self.b = self.a

        def forward(self):
            return self.a + self.b

    assert call(Tied(), {"a": tl.tensor([3.0])}).tolist() == [6.0]
    assert call(Tied(), {"a": tl.tensor([3.0])}, tie_weights=False).tolist() == [4.0]
    with pytest.raises(ValueError, match="multiple values for keys"):
        call(Tied(), {"a": tl.ones(1), "b": tl.ones(1)})


# Layout and fusion


def test_memory_format():
    model = nn.Sequential(nn.Conv2d(4, 4, 3), nn.Conv3d(4, 4, 3))
    values = model[0].weight.tolist()
    nn.utils.convert_conv2d_weight_memory_format(model, tl.channels_last)
    nn.utils.convert_conv3d_weight_memory_format(model, tl.channels_last_3d)
    assert (
        model[0].weight.is_contiguous(memory_format=tl.channels_last) and model[0].weight.tolist() == values
    )
    assert model[1].weight.is_contiguous(memory_format=tl.channels_last_3d)


@pytest.mark.parametrize("transpose", [False, True])
def test_fusion_of_weights(transpose):
    rng = np.random.default_rng(0)
    mean, variance, scale, shift = (np.abs(rng.normal(size=3)) + 0.1 for _ in range(4))
    layer = nn.ConvTranspose1d(2, 3, 2) if transpose else nn.Conv1d(2, 3, 2)
    x = tl.tensor(rng.normal(size=(4, 2, 6)).tolist())
    plain = np.array(layer(x).tolist())
    expected = (plain - mean[:, None]) / np.sqrt(variance + 1e-5)[:, None] * scale[:, None] + shift[:, None]
    numbers = [tl.tensor(values.tolist()) for values in (mean, variance)]
    factors = [tl.tensor(values.tolist()) for values in (scale, shift)]
    layer.weight, layer.bias = fusion.fuse_conv_bn_weights(
        layer.weight, layer.bias, *numbers, 1e-5, *factors, transpose=transpose
    )
    np.testing.assert_allclose(layer(x).tolist(), expected, rtol=1e-4, atol=1e-5)


def test_fusion_of_a_linear_layer_without_bias():
    weight, bias = fusion.fuse_linear_bn_weights(
        tl.ones(2, 3), None, tl.tensor([1.0, 2.0]), tl.tensor([3.0, 0.0]), 1.0, None, None
    )
    np.testing.assert_allclose(weight.tolist(), [[0.5] * 3, [1.0] * 3])
    np.testing.assert_allclose(bias.tolist(), [-0.5, -2.0])


class Listing(nn.Module):
    """Says what parameters and buffers it has while it is called."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 1)

    def forward(self, x):
        return self.inner(x), [name for name, _ in self.named_parameters()], hasattr(self.inner, "extra")


def test_a_call_with_names_that_the_module_lacks():
    module, x = Listing(), tl.ones(1, 1)
    before = dict(module.named_parameters())
    _, names, there = func.functional_call(module, {"inner.extra": nn.Parameter(tl.ones(1))}, x)
    assert names == ["inner.weight", "inner.bias", "inner.extra"] and there
    _, names, there = func.functional_call(module, {"inner.extra": tl.ones(1)}, x)
    assert names == ["inner.weight", "inner.bias"] and there
    out, names, there = func.functional_call(module, {"inner.bias": None}, x)
    assert out.equal(module.inner.weight) and names == ["inner.weight"] and not there
    for value in (3, "text", [tl.ones(1)]):
        with pytest.raises(TypeError, match=r"is not an instance of torch.Tensor, given as 'inner.weight'"):
            func.functional_call(module, {"inner.weight": value}, x)
    module.rate = 0.5
    with pytest.raises(TypeError, match=r"attribute `rate`: 0.5 is not an instance of torch.Tensor"):
        func.functional_call(module, {"rate": tl.ones(1)}, x)
    with pytest.raises(AttributeError, match="Listing has no attribute `other`"):
        func.functional_call(module, {"other.bias": tl.ones(1)}, x)
    assert dict(module.named_parameters()) == before and not hasattr(module.inner, "extra")
