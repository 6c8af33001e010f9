"""Tables of integers of 8, 4 and 2 bits, against formulas of rounding and numbers recorded from PyTorch 2.13."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_core.operators import packets
from tl_quantization.dtypes import bits_of, bounds, quint2x4, quint4x2
from tl_quantization.nn import quantized as nnq
from tl_quantization.observed_fake_quantization import choose_qparams_optimized
from tl_quantization.packed.embedding import PackedEmbedding
from tl_quantization.packing import pack_bits, unpack_bits

# The largest and the smallest number by PyTorch 2.13, for numbers of one generator after another.
SEARCHED = {
    (8, 4): [
        [0.9053558707237244, -1.2810720205307007],
        [0.5521107316017151, -0.7231010794639587],
        [1.262924075126648, -0.7819084525108337],
    ],
    (64, 4): [
        [2.1178388595581055, -2.5904369354248047],
        [2.4726858139038086, -2.3408758640289307],
        [2.6761672496795654, -2.711285352706909],
    ],
    (36, 2): [
        [1.812230110168457, -2.01926589012146],
        [3.1000423431396484, -2.457563638687134],
        [1.50852370262146, -1.4430947303771973],
    ],
    (132, 2): [
        [2.130972146987915, -2.280857801437378],
        [2.552859306335449, -2.7290849685668945],
        [2.7291669845581055, -3.548804998397827],
    ],
}
NARROW = {"byte": 8, "4bit": 4, "2bit": 2}


def weight(rows: int = 6, columns: int = 12) -> tl.Tensor:
    return tl.from_numpy(np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32))


def quantized(dtype: tl.dtype, rows: int = 6, columns: int = 12) -> tl.Tensor:
    scales, zeros = tl.linspace(0.1, 0.3, rows), tl.linspace(0.5, 7.5, rows)
    return tq.quantize_per_channel(weight(rows, columns), scales, zeros, 0, dtype)


@pytest.mark.parametrize("bits", [8, 4, 2])
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (2, 0), (2, 3, 9)])
def test_packing_puts_the_first_integer_into_the_lowest_bits(bits, shape):
    integers = np.random.default_rng(0).integers(0, 1 << bits, shape).astype(np.uint8)
    packed = pack_bits(tl.from_numpy(integers), bits)
    number = np.pad(integers, [(0, 0)] * (len(shape) - 1) + [(0, -shape[-1] % (8 // bits))])
    groups = number.reshape(*shape[:-1], -1, 8 // bits).astype(int)
    assert packed.tolist() == (groups << np.arange(0, 8, bits)).sum(-1).tolist()
    assert unpack_bits(packed, bits, shape[-1]).tolist() == integers.tolist()


@pytest.mark.parametrize(
    "dtype, recorded", [(quint4x2, [0, 49, 67, 118, 101, 135]), (quint2x4, [208, 255, 255])]
)
def test_types_of_less_than_a_byte(dtype, recorded):
    x = tl.arange(12.0).reshape(3, 4) - 3
    q = tq.quantize_per_channel(x, tl.tensor([0.5, 0.7, 1.0]), tl.tensor([3.0, 1.5, 0.0]), 0, dtype)
    assert q.int_repr().tolist() == recorded  # by PyTorch 2.13
    assert bounds(dtype) == (0, (1 << bits_of(dtype)) - 1)
    for other in (copy.deepcopy(q), pickle.loads(pickle.dumps(q))):
        assert other.dtype is dtype and tl.equal(other.dequantize(), q.dequantize())
    single = tq.quantize_per_tensor(x, 0.5, 3, dtype)
    assert single.dequantize().tolist() == ((x / 0.5 + 3).round().clamp(*bounds(dtype)) - 3).mul(0.5).tolist()
    with pytest.raises(NotImplementedError, match="must be floating numbers"):
        tq.quantize_per_channel(x, tl.ones(3), tl.zeros(3, dtype=tl.int64), 0, dtype)


@pytest.mark.parametrize("word, bits", NARROW.items())
def test_prepacking_rounds_each_row_between_its_bounds(word, bits):
    w, most = weight(), (1 << bits) - 1
    packed = getattr(packets.quantized, f"embedding_bag_{word}_prepack")(w)
    result = getattr(packets.quantized, f"embedding_bag_{word}_unpack")(packed)
    span = (w.amax(1) - w.amin(1)).unsqueeze(1)
    assert packed.shape == (6, 12 * bits // 8 + (8 if bits == 8 else 4)) and result.shape == w.shape
    assert ((result - w).abs() <= span / most / 2 * 1.01 + 2e-3).all()
    levels = (result - result.amin(1, keepdim=True)) / (span / most)
    assert (levels - levels.round()).abs().max() < 0.02 and levels.max().round() == most


def test_prepacking_as_pytorch_does():
    row, quantized_ops = tl.tensor([[1.0, 2.0, 3.0, 40.0]]), packets.quantized
    assert quantized_ops.embedding_bag_4bit_prepack(row, True).tolist() == [[0, 241, 45, 65, 200, 60]]
    assert quantized_ops.embedding_bag_4bit_prepack(row).tolist() == [[0, 241, 51, 65, 0, 60]]
    limits = tl.tensor([[0.0, 50.0]])
    result = quantized_ops.embedding_bag_byte_prepack_with_rowwise_min_max(row, limits)
    assert result.tolist() == [[5, 10, 15, 204, 201, 200, 72, 62, 0, 0, 0, 0]]
    assert quantized_ops.embedding_bag_byte_prepack(tl.zeros(2, 3)).tolist() == [[0] * 11] * 2
    assert quantized_ops.embedding_bag_byte_prepack(tl.ones(2, 3, 5)).shape == (2, 3, 13)


def test_the_search_passes_local_minima():
    rng = np.random.default_rng(1)
    for (count, bits), ranges in SEARCHED.items():
        for expected in ranges:
            x = tl.from_numpy(rng.standard_normal(count).astype(np.float32))
            assert [bound.item() for bound in choose_qparams_optimized(x, count, 200, 0.16, bits)] == expected


@pytest.mark.parametrize("dtype, word", [(tq.quint8, "byte"), (quint4x2, "4bit")])
@pytest.mark.parametrize("columns", [1, 5, 12, 64])
def test_packed_tables(dtype, word, columns):
    q = quantized(dtype, columns=columns)
    packed = packets.quantized.embedding_bag_prepack(q)
    assert tl.equal(packets.quantized.embedding_bag_unpack(packed).dequantize(), q.dequantize())
    tolerance = (
        {"rtol": 1e-6, "atol": 1e-6} if dtype is tq.quint8 else {"rtol": 2e-3, "atol": 4e-3}
    )  # scales of float16
    indices = tl.tensor([[5, 0, 2], [1, 1, 3]])
    rows = getattr(packets.quantized, f"embedding_{word}")(packed, indices)
    np.testing.assert_allclose(rows.numpy(), q.dequantize()[indices].numpy(), **tolerance)
    bags = getattr(packets.quantized, f"embedding_bag_{word}")(packed, indices.flatten(), tl.tensor([0, 3]))
    np.testing.assert_allclose(bags.numpy(), rows.sum(1).numpy(), rtol=1e-5, atol=1e-5)
    for other in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        assert tl.equal(other.packed, packed.packed)


def test_tables_that_have_lost_rows():
    packed = packets.quantized.embedding_bag_byte_prepack(weight())
    mapping = tl.tensor([0, -1, 1, 2], dtype=tl.int32)
    bag = packets.quantized.embedding_bag_byte_rowwise_offsets
    indices, offsets = tl.tensor([0, 1, 2, 3]), tl.tensor([0, 2])
    result = bag(packed, indices, offsets, pruned_weights=True, compressed_indices_mapping=mapping)
    assert tl.equal(result, bag(packed, tl.tensor([0, 1, 2]), tl.tensor([0, 1])))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize(
    "config", [tq.float_qparams_weight_only_qconfig, tq.float_qparams_weight_only_qconfig_4bit]
)
def test_layers(config, mode):
    layer = nn.EmbeddingBag(10, 8, mode=mode)
    layer.qconfig = config
    quantized_layer = nnq.EmbeddingBag.from_float(layer)
    indices, offsets = tl.tensor([1, 2, 9, 9, 0]), tl.tensor([0, 3])
    table = quantized_layer.weight().dequantize()
    expected = nn.functional.embedding_bag(indices, table, offsets, mode=mode)
    np.testing.assert_allclose(
        quantized_layer(indices, offsets).numpy(), expected.numpy(), rtol=1e-2, atol=2e-2
    )
    other = nnq.EmbeddingBag(10, 8, mode=mode, dtype=quantized_layer.weight().dtype)
    other.load_state_dict(quantized_layer.state_dict())
    assert tl.equal(other(indices, offsets), quantized_layer(indices, offsets))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda ops, p: ops.embedding_bag_byte_rowwise_offsets(p, tl.tensor([0])),
            RuntimeError,
            "expects offsets to be set",
        ),
        (
            lambda ops, p: ops.embedding_bag_byte_rowwise_offsets(p, tl.tensor([9]), tl.tensor([0])),
            RuntimeError,
            "range 0 to 6",
        ),
        (
            lambda ops, p: ops.embedding_bag_byte_rowwise_offsets(p, tl.tensor([0]), tl.tensor([0]), mode=2),
            RuntimeError,
            "mode",
        ),
        (lambda ops, p: ops.embedding_bag_4bit_prepack(tl.ones(2, 3)), RuntimeError, "a multiple of 2"),
        (lambda ops, p: ops.embedding_bag_2bit_prepack(tl.ones(2, 6)), RuntimeError, "a multiple of 4"),
        (
            lambda ops, p: ops.embedding_bag_byte_prepack(tl.ones(2, 3, dtype=tl.float64)),
            RuntimeError,
            "only support float32",
        ),
        (lambda ops, p: ops.embedding_bag_byte_prepack(tl.ones(3)), RuntimeError, "at least 2 dimensions"),
        (
            lambda ops, p: ops.embedding_bag_prepack(weight()),
            RuntimeError,
            "must be a matrix of torch.quint8",
        ),
        (
            lambda ops, p: ops.embedding_bag_prepack(tq.quantize_per_tensor(weight(), 1.0, 0, tq.quint8)),
            RuntimeError,
            "for each row",
        ),
        (
            lambda ops, p: ops.embedding_4bit(PackedEmbedding(quantized(tq.quint8)), tl.tensor([0])),
            RuntimeError,
            "of 4 bits, but got 8",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(packets.quantized, packets.quantized.embedding_bag_byte_prepack(weight()))
