"""Every layer on inputs without a batch, channels or space: which calls there are, and what one gives.

`python layer_sizes.py torch > layer_sizes.json` records the answers of PyTorch.
"""

import importlib
import json
import sys
import warnings

SIZES = {"N": 2, "C": 4, "D": 6, "H": 6, "W": 6, "L": 6, "S": 3, "E": 4}


def each_dim(names, arguments, channels="NC"):
    """A layer of each of these names for one, two and three dimensions."""
    spaces = {1: "L", 2: "HW", 3: "DHW"}
    return [
        (f"{name}{n}d({arguments})", channels + space)
        for name in names.split()
        for n, space in spaces.items()
        if (name, n) != ("FractionalMaxPool", 1)
    ]


def each(names, arguments, inputs):
    return [(f"{name}({arguments})", inputs) for name in names.split()]


ACTIVATIONS = (
    "CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU RReLU ReLU ReLU6 SELU "
    "SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Identity Dropout AlphaDropout FeatureAlphaDropout "
    "Flatten"
)
SAME_SHAPE_LOSSES = (
    "BCELoss BCEWithLogitsLoss HuberLoss KLDivLoss L1Loss MSELoss MultiLabelSoftMarginLoss PoissonNLLLoss "
    "SmoothL1Loss SoftMarginLoss"
)
DECODED = "ENC DNC"

# A layer, with {C} for how many channels it is built for, and the axes of its inputs; ":i" is an input of integers.
LAYERS = [
    *each(ACTIVATIONS, "", "NCL"),
    ("PReLU({C})", "NCL"),
    ("GLU(1)", "NCL"),
    ("Threshold(0.1, 2.0)", "NCL"),
    *each("Softmax LogSoftmax Softmin", "-1", "NCL"),
    *each("Softmax LogSoftmax Softmin", "1", "NCL"),
    ("Softmax2d()", "NCHW"),
    ("Unflatten(1, (2, 2))", "NCL"),
    *each_dim("BatchNorm InstanceNorm", "{C}"),
    *each_dim("BatchNorm InstanceNorm", "{C}, affine=True, track_running_stats=True"),
    ("BatchNorm1d({C})", "NC"),
    *((f"{layer}.eval()", inputs) for layer, inputs in each_dim("BatchNorm", "{C}")),
    *(
        (f"{layer}.eval()", inputs)
        for layer, inputs in each_dim("InstanceNorm", "{C}, track_running_stats=True")
    ),
    ("GroupNorm(2, {C})", "NCL"),
    ("LayerNorm({C})", "NLC"),
    ("RMSNorm({C})", "NLC"),
    ("LocalResponseNorm(2)", "NCHW"),
    ("CrossMapLRN2d(2)", "NCHW"),
    *each_dim("Conv ConvTranspose", "{C}, 3, 3"),
    *each_dim("Conv", "{C}, 3, 3, padding='same', padding_mode='circular'"),
    *each_dim("LazyConv LazyConvTranspose", "3, 3"),
    *each_dim("LazyBatchNorm LazyInstanceNorm", ""),
    ("LazyLinear(3)", "NLC"),
    *each_dim("Dropout", "0.5"),
    *each_dim("MaxPool AvgPool", "2"),
    *each_dim("LPPool", "2, 2"),
    *each_dim("AdaptiveAvgPool AdaptiveMaxPool", "3"),
    *each_dim("MaxPool", "2, return_indices=True"),
    *each_dim("FractionalMaxPool", "2, output_size=3"),
    *((f"MaxUnpool{n}d(2)", f"NC{space} NC{space}:i") for n, space in ((1, "L"), (2, "HW"), (3, "DHW"))),
    *each_dim("CircularPad ReflectionPad ReplicationPad ZeroPad", "1"),
    *each_dim("ConstantPad", "1, 2.0"),
    ("Upsample(scale_factor=2)", "NCL"),
    ("Upsample(scale_factor=2, mode='linear')", "NCL"),
    *((f"Upsample(size=3, mode='{mode}')", "NCHW") for mode in ("nearest", "bilinear", "bicubic")),
    ("Upsample(scale_factor=2, mode='trilinear')", "NCDHW"),
    *each("UpsamplingBilinear2d UpsamplingNearest2d", "scale_factor=2", "NCHW"),
    *each("PixelShuffle PixelUnshuffle ChannelShuffle", "2", "NCHW"),
    ("Unfold(2)", "NCHW"),
    ("Fold((3, 2), 2)", "NCE"),
    ("Linear({C}, 3)", "NLC"),
    ("Linear({C}, 3)", "NC"),
    ("Linear({C}, 0)", "NC"),
    ("Bilinear({C}, {C}, 3)", "NC NC"),
    *each("CosineSimilarity PairwiseDistance", "", "NC NC"),
    *each("RNN GRU LSTM", "{C}, 3", "LNC"),
    *each("RNN GRU LSTM", "{C}, 3, batch_first=True, bidirectional=True", "NLC"),
    *each("RNNCell GRUCell LSTMCell", "{C}, 3", "NC"),
    ("Embedding(5, {C})", "NL:i"),
    ("EmbeddingBag(5, {C})", "NL:i"),
    ("MultiheadAttention({C}, 2)", "LNC LNC LNC"),
    ("MultiheadAttention({C}, 2, batch_first=True)", "NLC NLC NLC"),
    ("TransformerEncoderLayer({C}, 2, 8, dropout=0.0)", "LNC"),
    ("TransformerDecoderLayer({C}, 2, 8, dropout=0.0)", "LNC SNC"),
    ("Transformer({C}, 2, 1, 1, 8, dropout=0.0)", "LNC SNC"),
    *each(SAME_SHAPE_LOSSES, "", "NC NC"),
    *each(SAME_SHAPE_LOSSES, "reduction='none'", "NC NC"),
    *each("CrossEntropyLoss NLLLoss MultiMarginLoss", "", "NC N:i"),
    *each("CrossEntropyLoss NLLLoss", "reduction='none'", "NCL NL:i"),
    ("MultiLabelMarginLoss()", "NC NC:i"),
    ("GaussianNLLLoss()", "NC NC NC"),
    ("HingeEmbeddingLoss()", "NC NC"),
    ("MarginRankingLoss()", "N N N"),
    ("CosineEmbeddingLoss()", "NC NC N"),
    *each("TripletMarginLoss TripletMarginWithDistanceLoss", "", "NC NC NC"),
]


def calls():
    """Each layer's text, the number of channels it is built for, and the shapes and kinds of its inputs."""
    for layer, inputs in LAYERS:
        axes = "".join(dict.fromkeys(c for word in inputs.split() for c in word.split(":")[0]))
        empty = ["", *axes, *(a + axes[-1] for a in axes[:1] if axes[-1:] != a)]
        for without_batch in (False, True) if "N" in axes and axes != "N" else (False,):
            for zeros in empty:
                if without_batch and "N" in zeros:
                    continue
                for channels in (4, 0) if "{C}" in layer else (4,):
                    yield layer.replace("{C}", str(channels)), shapes_of(inputs, zeros, without_batch)


def shapes_of(inputs, zeros, without_batch):
    """As text, such as "2x0x6 2x0:i"."""
    words = []
    for word in inputs.split():
        axes, _, kind = word.partition(":")
        sizes = [0 if a in zeros else SIZES[a] for a in axes if not (without_batch and a == "N")]
        words.append("x".join(map(str, sizes)) + (":" + kind if kind else ""))
    return " ".join(words)


def answer(module, layer, shapes):
    """The shapes of what a layer gives, or the type of the error, of its backward too."""
    stage = ""
    try:
        inputs = [tensor(module, word) for word in shapes.split(" ")]
        inputs[0].requires_grad_(inputs[0].is_floating_point())
        results = eval(layer, {**vars(module.nn), "dict": dict})(*inputs)
        stage = "backward "
        leaves = list(tensors(module, results))
        total = sum(t.sum() for t in leaves if t.is_floating_point())
        if total.requires_grad:
            total.backward()
    except Exception as error:
        return stage + type(error).__name__
    return " ".join("x".join(map(str, t.shape)) for t in leaves)


def tensor(module, word):
    sizes, _, kind = word.partition(":")
    shape = [int(n) for n in sizes.split("x") if n]
    if kind:
        return module.zeros(shape, dtype=module.int64)
    return module.full(shape, 0.5)


def tensors(module, results):
    if isinstance(results, module.Tensor):
        yield results
    elif isinstance(results, (tuple, list)):
        for r in results:
            yield from tensors(module, r)


def recorded(module):
    """All answers, by the layer and its inputs; a line for each layer."""
    result = {}
    for layer, shapes in calls():
        result.setdefault(layer, {}).setdefault(shapes, answer(module, layer, shapes))
    lines = (f"{json.dumps(layer)}: {json.dumps(answers)}" for layer, answers in result.items())
    return "{\n" + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(recorded(importlib.import_module(sys.argv[1])))
