"""Modules on nested tensors, against the same modules on each component."""

import pytest

import tl_core as tl
import tl_nn
from tl_core import nested
from tl_core.testing import assert_close

LENGTHS = (5, 2, 7)


def tokens(size=16):
    tl.manual_seed(0)
    return [tl.randn(n, size) for n in LENGTHS]


def jagged(parts, layout=tl.jagged):
    return nested.as_nested_tensor(parts, layout=layout)


def assert_components(made, expected, atol=1e-6):
    assert made.is_nested
    for part, reference in zip(made.unbind(), expected, strict=True):
        assert_close(part, reference, atol=atol, rtol=1e-5)


MODULES = {
    "Linear": lambda: tl_nn.Linear(16, 3),
    "LayerNorm": lambda: tl_nn.LayerNorm(16),
    "RMSNorm": lambda: tl_nn.RMSNorm(16),
    "GELU": tl_nn.GELU,
    "Softmax": lambda: tl_nn.Softmax(-1),
    "Sequential": lambda: tl_nn.Sequential(tl_nn.Linear(16, 8), tl_nn.SiLU(), tl_nn.Linear(8, 16)),
    "Dropout": lambda: tl_nn.Dropout(0.5).eval(),
    "TransformerEncoderLayer": lambda: tl_nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True),
    "norm_first": lambda: tl_nn.TransformerEncoderLayer(
        16, 4, 32, 0.0, batch_first=True, norm_first=True, bias=False
    ),
}


@pytest.mark.parametrize("layout", [tl.jagged, tl.strided], ids=str)
@pytest.mark.parametrize("name", MODULES)
def test_modules(name, layout):
    module = MODULES[name]()
    parts = tokens()
    result = module(jagged(parts, layout))
    assert result.layout is layout
    assert_components(result, [module(part[None])[0] for part in parts])


def test_gradients_are_those_of_the_components():
    module = MODULES["TransformerEncoderLayer"]()
    parts = tokens()
    module(jagged(parts)).square().sum().backward()
    result = {name: p.grad.clone() for name, p in module.named_parameters()}
    module.zero_grad()
    sum(module(part[None]).square().sum() for part in parts).backward()
    for name, p in module.named_parameters():
        assert_close(result[name], p.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("sizes", [{}, {"kdim": 6, "vdim": 4}])
def test_attention_to_other_sequences(sizes):
    module = tl_nn.MultiheadAttention(16, 4, batch_first=True, **sizes)
    queries = tokens()
    keys = [tl.randn(n, sizes.get("kdim", 16)) for n in (3, 1, 4)]
    k = jagged(keys)
    values = [tl.randn(n, sizes.get("vdim", 16)) for n in (3, 1, 4)]
    v = nested.nested_tensor_from_jagged(tl.cat(values), k.offsets())
    result, weights = module(jagged(queries), k, v, need_weights=False)
    assert weights is None
    triples = zip(queries, keys, values, strict=True)
    assert_components(
        result, [module(a[None], b[None], c[None], need_weights=False)[0][0] for a, b, c in triples]
    )


@pytest.mark.parametrize(
    "module, how, message",
    [
        ({}, {}, "need_weights=False"),
        ({"batch_first": False}, {"need_weights": False}, "batch_first=True"),
        ({"add_zero_attn": True}, {"need_weights": False}, "no added keys"),
        ({}, {"need_weights": False, "attn_mask": tl.zeros(2, 2)}, "neither attn_mask"),
    ],
)
def test_attention_that_there_is_not(module, how, message):
    x = jagged(tokens())
    with pytest.raises(AssertionError, match=message):
        tl_nn.MultiheadAttention(16, 4, **{"batch_first": True, **module})(x, x, x, **how)
    with pytest.raises(AssertionError, match="must all be nested"):
        tl_nn.MultiheadAttention(16, 4, batch_first=True)(x, tl.zeros(3, 2, 16), x)


def test_an_encoder_computes_no_padding():
    layer = tl_nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    fast = tl_nn.TransformerEncoder(layer, 2).eval()
    slow = tl_nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    slow.load_state_dict(fast.state_dict())
    x = nested.to_padded_tensor(jagged(tokens()), 100.0)
    padding = x[..., 0] == 100.0
    widths = []
    fast.layers[0].linear1.register_forward_hook(lambda module, args, out: widths.append(args[0].is_nested))
    with tl.no_grad():
        result = fast(x, src_key_padding_mask=padding)
        assert_close(result[~padding], slow(x, src_key_padding_mask=padding)[~padding])
        assert result.shape == x.shape and bool((result[padding] == 0).all())
        fast(x, src_key_padding_mask=padding.flip(1))  # padding in front
        fast(x)
    fast(x, src_key_padding_mask=padding)  # gradients are wanted
    assert widths == [True, False, False, False]


def test_an_embedding():
    module = tl_nn.Embedding(10, 4)
    indices = [tl.tensor([1, 2]), tl.tensor([9])]
    result = module(jagged(indices))
    assert_components(result, [module(i) for i in indices])
    result.sum().backward()
    assert module.weight.grad.sum(1).tolist() == [0, 4, 4, 0, 0, 0, 0, 0, 0, 4]


@pytest.mark.parametrize("optimizer", [tl_nn.optim.SGD, tl_nn.optim.Adam])
@pytest.mark.parametrize("foreach", [True, False])
def test_optimizers(optimizer, foreach):
    parts = tokens()
    x = nested.nested_tensor(parts, layout=tl.jagged, requires_grad=True)
    plain = x.detach().values().clone().requires_grad_()
    for t in (x, plain):
        steps = optimizer([t], lr=0.1, foreach=foreach)
        for _ in range(3):
            steps.zero_grad()
            t.square().sum().backward()
            steps.step()
    assert_close(x.detach().values(), plain.detach())


def test_errors_describe_nested_inputs():
    with pytest.raises(RuntimeError) as caught:
        tl_nn.Linear(3, 2)(jagged(tokens(), tl.strided))
    assert "nested: 3 tensors" in str(caught.value)
