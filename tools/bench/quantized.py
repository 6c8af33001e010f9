"""Quantized layers and functions, and whole models, beside PyTorch's: `nox -s bench -- --only quant`.

With `--peer-module tl` both sides are tl's. The group "quantized, against floating" then compares integer layers with
floating ones, also at another level of instructions: `TL_CPU_CAPABILITY=avx2`.
"""

from __future__ import annotations

from tools.bench.cases import Case, Group
from tools.bench.training import RESNET, START

DYNAMIC = Group("quantized linear layers, dynamic")
STATIC = Group("quantized products")
CONVOLUTIONS = Group("quantized convolutions", mean=0.88, each=1.0)
RECURRENT = Group("quantized recurrent layers", each=0.8)
FUNCTIONS = Group("quantized functions", each=0.9)
OBSERVERS = Group("quantization, observers")
WEIGHTS = Group("quantized weights only")
MODELS = Group("quantized models")
AGAINST_FLOAT = Group("quantized, against floating")

_AO = START + "ao, nnq = torch.ao.quantization, torch.ao.nn.quantized\n"
_NO_GRAD = "with torch.no_grad():\n    {}"

_DYNAMIC = (
    _AO
    + "layer = nn.Sequential(nn.Linear({columns}, {features})).eval()\n"
    + "model = ao.quantize_dynamic(layer, {{nn.Linear}})[0]\nx = torch.randn({rows}, {columns})"
)
# Rows, columns, features, and the ratio that is asked for.
_SIZES = (
    *((1, 256, 256, 0.35), (1, 1024, 1024, 0.45), (1, 4096, 4096, 1.0)),
    *((16, 1024, 1024, 0.75), (16, 4096, 4096, 0.75)),
    *((128, 256, 256, 0.85), (128, 1024, 1024, 0.85), (128, 3072, 768, 0.85), (128, 4096, 4096, 0.85)),
)
_BYTES = "torch.randint(-128, 127, {shape}, dtype=torch.int8)"

_CONVOLUTION = (
    _AO
    + """\
def quantized(shape):
    return torch.quantize_per_tensor(torch.randn(shape), 0.03, 128, torch.quint8)

conv = nnq.Conv2d({channels}, {features}, {kernel}, {stride}, {padding}, groups={groups})
conv.scale, conv.zero_point = 0.05, 128
x = quantized((1, {channels}, {size}, {size}))
"""
)
# Inside a network, an input is the result of a layer, in whatever order of memory that is.
_BEHIND = "before = nnq.Conv2d({channels}, {channels}, 1)\nbefore.scale, before.zero_point = 0.05, 128\nx = before(x)\n"
# Name, channels, features, kernel, stride, padding, groups, size, and the ratio that is asked for.
_LAYERS = (
    ("7x7, stem", 3, 64, 7, 2, 3, 1, 224, 1.0),
    *((f"3x3, {c} at {s}", c, c, 3, 1, 1, 1, s, 1.0) for c, s in ((64, 56), (128, 28), (256, 14), (512, 7))),
    *((f"1x1, {c} at {s}", c, f, 1, 1, 0, 1, s, 1.0) for c, f, s in ((64, 256, 56), (1024, 256, 14))),
    ("depthwise 3x3, 32 at 112", 32, 32, 3, 1, 1, 32, 112, 0.9),
    ("depthwise 3x3, 384 at 14", 384, 384, 3, 1, 1, 384, 14, 0.9),
)

_RECURRENT = (
    _AO
    + "layer = nn.Sequential(nn.{kind}(512, 512))\nmodel = ao.quantize_dynamic(layer, {{nn.{kind}}})[0]\n"
    + "x = torch.randn(35, {batch}, 512)"
)
_BAG = (
    START
    + "table = torch.randn(100_000, 64)\nindices = torch.randint(0, 100_000, (10_240,))\n"
    + "offsets = torch.arange(0, 10_240, 20)\nops = torch.ops.quantized\nrows = ops.embedding_bag_{kind}_prepack(table)"
)
_NUMBERS = (
    _AO
    + """\
x = torch.randn(1, 64, 56, 56)[:, :, :, :56]
q = torch.quantize_per_tensor(x, 0.03, 128, torch.quint8)
flat = torch.randn(200_000)
"""
)
_FUNCTIONS = {
    "quantize": ("torch.quantize_per_tensor(flat, 0.03, 128, torch.quint8)", None),
    "dequantize": ("q.dequantize()", None),
    "relu": ("torch.relu(q)", None),
    "add": ("torch.ops.quantized.add(q, q, 0.06, 128)", 0.6),
    "max pool": ("F.max_pool2d(q, 3, 2, 1)", 0.3),
    "average pool": ("F.avg_pool2d(q, 3, 2, 1)", None),
}
_OBSERVERS = {  # the statements, and the ratios of the first version to PyTorch
    "fake quantization": ("torch.fake_quantize_per_tensor_affine(flat, 0.03, 0, -128, 127)", 0.232),
    "fused observer": ("fused(flat)", 0.321),
    "histogram": ("histogram(flat)", 0.391),
    "smallest and largest": ("extremes(flat)", 0.659),
}
_WATCHING = (
    _NUMBERS
    + "fused, histogram, extremes = ao.FusedMovingAvgObsFakeQuantize(), ao.HistogramObserver(), ao.MinMaxObserver()\n"
    + "histogram(flat)"
)

# More matrices than the last cache holds, so that each is read from memory.
_FAR = START + "x = torch.randn({rows}, 2048).{kind}()\n"
_INT8 = (
    _FAR
    + "weights = [torch.randint(-128, 127, (2048, 2048), dtype=torch.int8) for _ in range(96)]\n"
    + "scales = torch.rand(2048).{kind}()"
)
_INT4 = (
    _FAR
    + """\
def pack():
    integers = torch.randint(0, 16, (2048, 2048), dtype=torch.int32)
    return torch.ops.aten._convert_weight_to_int4pack_for_cpu(integers, 1)

weights = [pack() for _ in range(192)]
scales = torch.randn(32, 2048, 2).{kind}()
"""
)
_RUN8 = "for weight in weights:\n    torch._weight_int8pack_mm(x, weight, scales)"
_RUN4 = "for weight in weights:\n    torch.ops.aten._weight_int4pack_mm_for_cpu(x, weight, 64, scales)"

_ENCODER = (
    _AO
    + "torch.backends.mha.set_fastpath_enabled(False)\n"  # PyTorch's takes floating weights only
    + "layer = nn.TransformerEncoderLayer(384, 12, 1536, batch_first=True, activation='gelu')\n"
    + "encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).eval()\n"
    + "model = ao.quantize_dynamic(encoder, {{nn.Linear}})\nx = torch.randn(1, {tokens}, 384)"
)
_RESNET = (
    RESNET
    + "ao = torch.ao.quantization\n"
    + "from_graph = __import__(torch.__name__ + '.ao.quantization.quantize_fx', fromlist=['convert_fx'])\n"
)
_STATIC_RESNET = (
    _RESNET
    + """\
x = torch.randn(1, 3, 224, 224)
observed = from_graph.prepare_fx(resnet18().eval(), ao.get_default_qconfig_mapping("x86"), (x,))
with torch.no_grad():
    observed(x)
model = from_graph.convert_fx(observed)
"""
)
_TRAINED_RESNET = (
    _RESNET
    + """\
x, y = torch.randn(4, 3, 64, 64), torch.randint(0, 1000, (4,))
model = from_graph.prepare_qat_fx(resnet18().train(), ao.get_default_qat_qconfig_mapping("x86"), (x,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
"""
)
_STEP = "optimizer.zero_grad()\nF.cross_entropy(model(x), y).backward()\noptimizer.step()"


def _dynamic(rows: int, columns: int, features: int) -> str:
    return _DYNAMIC.format(rows=rows, columns=columns, features=features)


def _products() -> list[Case]:
    static = (
        _AO
        + "model = nnq.Linear(1024, 1024)\nmodel.scale, model.zero_point = 0.05, 128\n"
        + "x = torch.quantize_per_tensor(torch.randn(128, 1024), 0.03, 128, torch.quint8)"
    )
    cases = [Case(STATIC, "static linear, 128x1024x1024", static, "model(x)", bound=0.9)]
    for rows, size, bound in ((128, 1024, 0.9), (16, 4096, 0.3)):
        left, right = (_BYTES.format(shape=shape) for shape in ((rows, size), (size, size)))
        name = f"_int_mm, {rows}x{size}x{size}"
        cases.append(Case(STATIC, name, f"{START}a, b = {left}, {right}", "torch._int_mm(a, b)", bound=bound))
    return cases


def _convolutions() -> list[Case]:
    cases = []
    for name, channels, features, kernel, stride, padding, groups, size, bound in _LAYERS:
        setup = (_CONVOLUTION + _BEHIND * (channels > 3)).format(
            channels=channels, features=features, kernel=kernel, stride=stride, padding=padding,
            groups=groups, size=size,
        )  # fmt: skip
        cases.append(Case(CONVOLUTIONS, name, setup, "conv(x)", bound=bound))
    return cases


def _weights() -> list[Case]:
    one, sixteen = {"rows": 1, "kind": "bfloat16"}, {"rows": 16, "kind": "bfloat16"}
    single = {"rows": 1, "kind": "float"}
    return [
        Case(WEIGHTS, "int8, 1 row", _INT8.format(**one), _RUN8, bound=0.5),
        Case(WEIGHTS, "int4, 1 row", _INT4.format(**one), _RUN4, bound=0.8),
        Case(WEIGHTS, "int4, 1 row of float32", _INT4.format(**single), _RUN4, bound=0.05, builds=1),
        Case(WEIGHTS, "int8, 16 rows", _INT8.format(**sixteen), _RUN8, bound=0.6, builds=1),
        Case(WEIGHTS, "int4, 16 rows", _INT4.format(**sixteen), _RUN4, bound=0.65, builds=1),
    ]


def _models() -> list[Case]:
    encoders = [
        Case(
            MODELS,
            f"encoder of 6 layers of 384, dynamic, {tokens} tokens",
            _ENCODER.format(tokens=tokens),
            _NO_GRAD.format("model(x)"),
            bound=bound,
        )
        for tokens, bound in ((16, 0.8), (128, 0.9))
    ]
    return [
        *encoders,
        Case(MODELS, "ResNet-18 at 224", _STATIC_RESNET, _NO_GRAD.format("model(x)"), bound=0.95, builds=2),
        Case(MODELS, "ResNet-18 at 64, training step", _TRAINED_RESNET, _STEP, bound=0.5, builds=1),
    ]


CASES = [
    *(
        Case(DYNAMIC, f"{m}x{k}x{n}", _dynamic(m, k, n), _NO_GRAD.format("model(x)"), bound=bound)
        for m, k, n, bound in _SIZES
    ),
    *_products(),
    *_convolutions(),
    *(
        Case(
            RECURRENT,
            f"{kind}, batch {batch}",
            _RECURRENT.format(kind=kind, batch=batch),
            _NO_GRAD.format("model(x)"),
        )
        for kind, batch in (("LSTM", 1), ("LSTM", 8), ("GRU", 1))
    ),
    *(
        Case(
            FUNCTIONS,
            f"embedding bag, {name}",
            _BAG.format(kind=kind),
            f"ops.embedding_bag_{kind}_rowwise_offsets(rows, indices, offsets, False, 0, False)",
        )
        for name, kind in (("8 bits", "byte"), ("4 bits", "4bit"))
    ),
    *(Case(FUNCTIONS, name, _NUMBERS, run, bound=bound) for name, (run, bound) in _FUNCTIONS.items()),
    *(Case(OBSERVERS, name, _WATCHING, run, bound=bound) for name, (run, bound) in _OBSERVERS.items()),
    *_weights(),
    *_models(),
    Case(
        AGAINST_FLOAT,
        "dynamic linear, 128x1024x1024",
        _dynamic(128, 1024, 1024),
        _NO_GRAD.format("model(x)"),
        peer=_NO_GRAD.format("layer(x)"),
    ),
]
