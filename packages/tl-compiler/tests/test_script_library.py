# ruff: noqa: E501 - a call is one line
"""Programs of the library's functions and layers: each computes the bits of the call that isn't compiled.

The functions and layers are those that PyTorch scripts, with numbers in the place of lists, indices and reductions.
"""

from __future__ import annotations

import copy
import io
import linecache
import math
import sys
import types
from typing import Any

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import jit


def program(signature: str, text: str) -> Any:
    """A function of Python with the source that the compiler reads."""
    name = f"library_program_{abs(hash((signature, text)))}"
    source = f"def run({signature}):\n    return {text}\n"
    module = types.ModuleType(name)
    module.__dict__.update(torch=tl, F=nn.functional, rnn=nn.utils.rnn, Tensor=tl.Tensor, math=math)
    exec("from typing import Optional, List, Tuple", module.__dict__)
    sys.modules[name] = module
    linecache.cache[f"<{name}>"] = len(source), None, source.splitlines(True), f"<{name}>"
    exec(compile(source, f"<{name}>", "exec"), module.__dict__)
    return module.run


def equal(a: Any, b: Any) -> bool:
    """Whether two results have the same types and bits."""
    if isinstance(a, tl.Tensor):
        return (
            isinstance(b, tl.Tensor) and a.dtype == b.dtype and a.shape == b.shape
            and tl.equal(a.nan_to_num(), b.nan_to_num())
        )  # fmt: skip
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


def results(run: Any, compiled: Any, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """The results of both, with the same random numbers and arguments of their own."""
    tl.manual_seed(1)
    expected = run(*copy.deepcopy(arguments))
    tl.manual_seed(1)
    return expected, compiled(*copy.deepcopy(arguments))


def wave(*shape: int) -> tl.Tensor:
    return (tl.arange(math.prod(shape), dtype=tl.float32) * 0.7).sin().reshape(shape)


def classes(count: int, *shape: int) -> tl.Tensor:
    return (tl.arange(math.prod(shape)) * 7 % count).reshape(shape)


X = {1: wave(2, 4, 6), 2: wave(2, 4, 6, 6), 3: wave(2, 4, 6, 6, 6)}
SIGNS = tl.tensor([1.0, -1.0, 1.0])
LABELS = tl.tensor([[1, 2, -1, 0], [0, -1, 1, 2]])
ROWS = wave(4, 5)
# The signature behind `x: Tensor`, the call, and the arguments.
CALLS: list[tuple[str, str, tuple[Any, ...]]] = [
    ("", "F.elu_(x.clone())", (ROWS,)), ("", "F.leaky_relu_(x.clone(), 0.2)", (ROWS,)),
    ("a: int, b: float", "F.softplus(x, beta=a, threshold=b)", (ROWS, 2, 5.0)),
    ("d: torch.dtype", "F.softmax(x, dim=0, dtype=d)", (ROWS, tl.float64)),
    ("", "x.norm(p='fro') if False else torch.norm(x, dim=1)", (ROWS,)), ("", "torch.norm(x, p='nuc')", (ROWS,)),
    ("", "torch.norm(x, 1, [0, 1], True)", (ROWS,)), ("", "x.norm(2, 1, keepdim=True)", (ROWS,)),
    ("", "torch.unique(x)", (ROWS,)), ("", "torch.unique(x, return_inverse=True, return_counts=True)", (ROWS,)),
    ("", "torch.unique(x, dim=0)", (ROWS,)), ("", "torch.unique_consecutive(x)", (ROWS,)),
    ("", "torch.unique_consecutive(x, return_counts=True)", (ROWS,)), ("", "torch.chain_matmul(x, x.t(), x)", (ROWS,)),
    ("", "torch.lu(x @ x.t())", (ROWS,)), ("", "torch.lu(x @ x.t(), get_infos=True)", (ROWS,)),
    ("", "x.type(torch.float64)", (ROWS,)), ("", "x.where(x > 0, -x)", (ROWS,)),
    ("", "torch.max(x, 1).values + torch.sort(x).indices[:, 0] + x.min(dim=1).values", (ROWS,)),
    ("", "torch.linalg.svd(x).S", (ROWS,)),
    ("w: Tensor", "F.embedding_bag(x, w)", (classes(4, 2, 3), ROWS)),
    ("w: Tensor", "F.embedding_bag(x, w.clone(), max_norm=1.0)", (classes(4, 2, 3), ROWS)),
    ("w: Tensor, o: Tensor, m: str", "F.embedding_bag(x, w, o, mode=m)", (classes(4, 6), ROWS, tl.tensor([0, 3]), "sum")),
    ("w: Tensor, o: Tensor", "F.embedding_bag(x, w, o, mode='max', include_last_offset=True, padding_idx=-1)",
     (classes(4, 6), ROWS, tl.tensor([0, 3, 6]))),
    ("w: Tensor, p: Optional[Tensor]", "F.embedding_bag(x, w, mode='sum', per_sample_weights=p)",
     (classes(4, 2, 3), ROWS, wave(2, 3))),
    ("y: Tensor, r: str", "F.multilabel_soft_margin_loss(x, y, reduction=r)", (ROWS, classes(2, 4, 5) * 1.0, "sum")),
    ("y: Tensor", "F.multi_margin_loss(x, y, 2, 0.5)", (ROWS, classes(5, 4))),
    ("y: Tensor, w: Tensor", "F.mse_loss(x, y, weight=w)", (ROWS, ROWS * 2, ROWS.abs())),
    ("y: Tensor, w: Tensor", "F.huber_loss(x, y, delta=2.0, weight=w)", (ROWS, ROWS * 2, ROWS.abs())),
    ("y: Tensor", "F.gaussian_nll_loss(x, y, x.abs(), full=True)", (ROWS, ROWS * 2)),
    ("y: Tensor", "F.gaussian_nll_loss(x, y, x[:, :1].abs(), reduction='none')", (ROWS, ROWS * 2)),
    ("y: Tensor", "F.kl_div(x, y, reduction='batchmean', log_target=True)", (ROWS, ROWS * 2)),
    ("t: Tensor, a: Tensor, b: Tensor", "F.ctc_loss(x.log_softmax(2), t, a, b, reduction='sum', zero_infinity=True)",
     (wave(10, 2, 5), classes(4, 2, 3) + 1, tl.tensor([10, 10]), tl.tensor([3, 3]))),
    *(("y: Tensor", f"F.{name}(x, y, {old}=False)", (x, y)) for old in ("size_average", "reduce") for name, x, y in [
        ("mse_loss", ROWS, ROWS * 2), ("l1_loss", ROWS, ROWS * 2), ("smooth_l1_loss", ROWS, ROWS * 2),
        ("kl_div", ROWS, ROWS.abs()), ("binary_cross_entropy", ROWS.abs(), ROWS.abs()),
        ("binary_cross_entropy_with_logits", ROWS, ROWS.abs()), ("poisson_nll_loss", ROWS, ROWS.abs()),
        ("soft_margin_loss", ROWS[0, :3], SIGNS), ("hinge_embedding_loss", ROWS[0, :3], SIGNS),
        ("multilabel_margin_loss", ROWS[:2, :4], LABELS), ("cross_entropy", ROWS, classes(5, 4)),
        ("nll_loss", ROWS, classes(5, 4)), ("multi_margin_loss", ROWS, classes(5, 4))]),
    *((text, call.replace("N", str(n)), (X[n], *rest)) for n in (1, 2, 3) for text, call, rest in [
        ("p: float", "F.lp_poolNd(x, p, 2)", (2.0,)), ("", "F.lp_poolNd(x, 3, 3, stride=2, ceil_mode=True)", ()),
        ("", "F.adaptive_max_poolNd(x, 2, return_indices=True)", ()),
        ("", "F.adaptive_max_poolNd_with_indices(x, 2)", ()), ("", "F.max_poolNd_with_indices(x, 2)", ()),
        ("", "F.interpolate(x, scale_factor=0.5, mode='area')", ()),
        ("", "F.interpolate(x, scale_factor=1.7, mode='nearest-exact')", ()), ("", "F.upsample(x, scale_factor=2.0)", ()),
    ]),
    *(("o: List[int]", f"F.adaptive_{kind}_pool{n}d(x, o)", (X[n], [2] * n)) for kind in ("avg", "max") for n in (2, 3)),
    *(("r: Tensor", text.replace("N", str(n)), (X[n], wave(2, 4, n).abs())) for n in (2, 3) for text in [
        "F.fractional_max_poolNd(x, 2, output_size=3, _random_samples=r)",
        "F.fractional_max_poolNd(x, 2, output_ratio=0.5, _random_samples=r, return_indices=True)",
        "F.fractional_max_poolNd_with_indices(x, 2, output_size=3, _random_samples=r)"]),
    *(("i: Tensor", text.replace("N", str(n)), getattr(nn.functional, f"max_pool{n}d_with_indices")(X[n], 2))
      for n in (1, 2, 3) for text in ["F.max_unpoolNd(x, i, 2)", f"F.max_unpoolNd(x, i, {[2] * n}, output_size={[6] * n})"]),
    ("w: Tensor, o: Tensor", "F.multi_head_attention_forward(x, x, x, 8, 2, w, None, None, None, False, 0.0, o, None)",
     (wave(3, 1, 8), wave(24, 8), wave(8, 8))),
    ("w: Tensor, o: Tensor, m: Tensor", "F.multi_head_attention_forward(x, x, x, 8, 2, w, None, None, None, True, 0.0, o, None, attn_mask=m, need_weights=False)", (wave(3, 1, 8), wave(24, 8), wave(8, 8), wave(3, 3) > 0)),
    ("n: Tensor", "rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, n, enforce_sorted=False), True, -1.0, 5)",
     (wave(4, 2, 3), tl.tensor([2, 4]))),
    ("", "rnn.pad_sequence([x, x[:2]], batch_first=True)", (ROWS,)),
    ("", "rnn.pack_sequence([x, x[:2]]).batch_sizes", (ROWS,)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("signature", "text", "arguments"), CALLS, ids=[c[1][:60] for c in CALLS])
def test_functions(signature: str, text: str, arguments: tuple[Any, ...]) -> None:
    run = program(", ".join(filter(None, ("x: Tensor", signature))), text)
    expected, own = results(run, jit.script(run), arguments)
    assert equal(expected, own)


def attention(**options: Any) -> nn.Module:
    return nn.MultiheadAttention(8, 2, **options)


LAYERS: list[tuple[nn.Module, tuple[Any, ...]]] = [
    *((getattr(nn, f"LPPool{n}d")(p, 2), (X[n],)) for n in (1, 2, 3) for p in (1, 2.0)),
    *((getattr(nn, f"AdaptiveMaxPool{n}d")(2, return_indices=True), (X[n],)) for n in (1, 2, 3)),
    *((getattr(nn, f"FractionalMaxPool{n}d")(2, output_size=3), (X[n],)) for n in (2, 3)),
    *((getattr(nn, f"MaxUnpool{n}d")(2), getattr(nn.functional, f"max_pool{n}d_with_indices")(X[n], 2)) for n in (1, 2, 3)),
    (nn.EmbeddingBag(10, 3, mode="sum"), (classes(10, 6), tl.tensor([0, 3]))), (nn.CrossMapLRN2d(2), (X[2],)),
    (nn.CTCLoss(), (wave(10, 2, 5), classes(4, 2, 3) + 1, tl.tensor([10, 10]), tl.tensor([3, 3]))),
    (nn.MultiMarginLoss(weight=tl.ones(5)), (ROWS, classes(5, 4))), (nn.GaussianNLLLoss(), (ROWS, -ROWS, ROWS.abs())),
    (nn.MultiLabelSoftMarginLoss(), (ROWS, classes(2, 4, 5) * 1.0)),
    (attention(add_bias_kv=True, add_zero_attn=True), (wave(3, 1, 8),) * 3),
    (attention(kdim=4, vdim=6, batch_first=True), (wave(1, 3, 8), wave(1, 5, 4), wave(1, 5, 6))),
    (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0), 2), (wave(3, 1, 8),)),
    (nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0), 2), (wave(3, 1, 8), wave(4, 1, 8))),
    (nn.Transformer(8, 2, 1, 1, 16, 0.0), (wave(3, 1, 8), wave(4, 1, 8))),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("layer", "arguments"), LAYERS, ids=[type(layer).__name__ for layer, _ in LAYERS])
def test_layers(layer: nn.Module, arguments: tuple[Any, ...]) -> None:
    compiled = jit.script(layer)
    expected, own = results(layer, compiled, arguments)
    assert equal(expected, own)
    data = io.BytesIO()
    compiled.save(data)
    data.seek(0)
    assert equal(expected, results(layer, jit.load(data), arguments)[1])


@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_takes_masks(causal: bool) -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 1)
    mask = nn.Transformer.generate_square_subsequent_mask(3) if causal else tl.zeros(3, 3, dtype=tl.bool)
    padding = tl.tensor([[False, False, True]])
    arguments = wave(1, 3, 8), mask, padding
    tl.testing.assert_close(jit.script(encoder)(*arguments), encoder(*arguments))


class Packed(nn.Module):
    """A recurrent layer that runs on packed sequences in a program."""

    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.layer = kind(3, 4, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, x: tl.Tensor, lengths: tl.Tensor):  # type: ignore[no-untyped-def]  # the compiler infers it
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        output, state = self.layer(packed)
        padded, sizes = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        return padded, sizes, state


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers_on_packed_sequences(kind: type[nn.Module]) -> None:
    model = Packed(kind)
    expected, own = results(model, jit.script(model), (wave(3, 5, 3), tl.tensor([2, 5, 1])))
    assert equal(expected, own)


def test_a_selection_of_indices_must_be_constant() -> None:
    with pytest.raises(RuntimeError, match="return_indices must be a constant"):
        jit.script(program("x: Tensor, flag: bool", "F.max_pool1d(x, 2, return_indices=flag)"))
    with pytest.raises(RuntimeError, match="return_inverse must be True or False"):
        jit.script(program("x: Tensor, flag: bool", "torch.unique(x, return_inverse=flag)"))
    with pytest.raises(RuntimeError, match="p must be a number"):
        jit.script(program("x: Tensor, p: str", "torch.norm(x, p)"))


def test_former_switches_of_losses_warn() -> None:
    compiled = jit.script(program("x: Tensor", "F.mse_loss(x, x, size_average=False)"))
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        compiled(ROWS)
