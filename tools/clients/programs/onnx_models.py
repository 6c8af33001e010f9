"""onnxruntime: fourteen models of timm, transformers and of the program, exported with fixed and dynamic batches."""

import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import timm
import torch
import transformers
from torch import nn
from torch.nn import functional as F

onnxruntime.set_default_logger_severity(3)
WORDS = {"vocab_size": 99, "max_position_embeddings": 32}
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.cells = nn.LSTM(16, 24, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, 50)

    def forward(self, x):
        y, (h, c) = self.cells(self.words(x))
        return self.head(y), h, c


def twice(inside, outside):
    parts = []
    for width in (inside, outside):
        parts += [nn.Conv2d(width, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(inplace=True)]
    return nn.Sequential(*parts)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = twice(3, 8), twice(8, 16), twice(16, 32)
        self.pool = nn.MaxPool2d(2)
        self.up2, self.back2 = nn.ConvTranspose2d(32, 16, 2, 2), twice(32, 16)
        self.up1, self.back1 = nn.ConvTranspose2d(16, 8, 2, 2), twice(16, 8)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.first(x)
        b = self.second(self.pool(a))
        y = self.back2(torch.cat([self.up2(self.third(self.pool(b))), b], 1))
        y = self.head(self.back1(torch.cat([self.up1(y), a], 1)))
        return F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1, self.norm1 = (
            nn.Conv2d(inside, outside, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outside),
        )
        self.conv2, self.norm2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)
        self.short = nn.Conv2d(inside, outside, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        y += self.short(x)
        return F.relu(y)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.qkv(x).split(c, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2, self.attention = (
            nn.LayerNorm(width),
            nn.LayerNorm(width),
            Attention(width, heads),
        )
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(65, 64), nn.Embedding(32, 64)
        self.layers = nn.Sequential(*(Layer(64, 4) for _ in range(4)))
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 65, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.layers(self.words(x) + self.positions(torch.arange(x.shape[1])))))


def mlp():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.LayerNorm(32), nn.Linear(32, 10))


def resnet8():
    blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
    ends = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), *blocks, *ends)


def of_timm(name, **sizes):
    return lambda: timm.create_model(name, pretrained=False, num_classes=10, **sizes)


def of_transformers(kind, config, **settings):
    return lambda: getattr(transformers, kind)(getattr(transformers, config)(**settings))


def models():
    """A name, what makes the model, and its example inputs by name or by position."""
    generator = torch.Generator().manual_seed(0)
    images, small = (
        torch.randn(2, 3, 64, 64, generator=generator),
        torch.randn(2, 3, 32, 32, generator=generator),
    )
    ids = torch.randint(0, 50, (2, 7), generator=generator)
    words = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    llama = {"num_key_value_heads": 2, "use_cache": False, "pad_token_id": 0}
    gpt2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99, "n_positions": 32, "use_cache": False}
    gpt2 |= {"bos_token_id": 0, "eos_token_id": 0}
    yield "resnet18", of_timm("resnet18"), (images,)
    yield "vit", of_timm("vit_tiny_patch16_224", img_size=64), (images,)
    yield "convnext", of_timm("convnext_atto"), (images,)
    yield "mobilenetv3", of_timm("mobilenetv3_small_050"), (images,)
    yield "efficientnet", of_timm("efficientnet_b0"), (images,)
    yield "bert", of_transformers("BertModel", "BertConfig", **SIZES, **WORDS), words
    yield "llama", of_transformers("LlamaForCausalLM", "LlamaConfig", **SIZES, **WORDS, **llama), words
    yield "gpt2", of_transformers("GPT2LMHeadModel", "GPT2Config", **gpt2), words
    vit = of_transformers("ViTModel", "ViTConfig", **SIZES, image_size=32, patch_size=8)
    yield "vit of transformers", vit, {"pixel_values": small}
    yield "mlp", mlp, (torch.randn(2, 16, generator=generator),)
    yield "lstm", Recurrent, (ids,)
    yield "unet", UNet, (small,)
    yield "resnet8", resnet8, (small,)
    yield "gpt", GPT, (ids,)


def tensors(result):
    """The tensors of a result, in order."""
    if isinstance(result, torch.Tensor):
        return [result]
    result = result.to_tuple() if hasattr(result, "to_tuple") else result
    return [t for part in result for t in tensors(part)] if isinstance(result, (tuple, list)) else []


def session_of(program, folder):
    """A session of onnxruntime for a model that the checker accepts."""
    path = str(Path(folder) / "model.onnx")
    program.save(path)
    onnx.checker.check_model(path, full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def check(session, model, inputs):
    """What onnxruntime computes, if that is what the model computes."""
    named = isinstance(inputs, dict)
    expected = tensors(model(**inputs) if named else model(*inputs))
    values = [value.numpy() for value in (inputs.values() if named else inputs)]
    results = session.run(None, dict(zip([i.name for i in session.get_inputs()], values)))
    assert len(results) == len(expected)
    for result, target in zip(results, expected):
        np.testing.assert_allclose(result, target.numpy(), rtol=1e-3, atol=1e-4)
    return results[0]


def five_rows(inputs):
    """The inputs with a batch of five."""
    if isinstance(inputs, dict):
        return {name: torch.cat([value, value.flip(0), value])[:5] for name, value in inputs.items()}
    return tuple(torch.cat([value, value.flip(0), value])[:5] for value in inputs)


def main():
    results = {}
    batch = torch.export.Dim("batch")
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        for name, make, inputs in models():
            torch.manual_seed(0)
            model = make().eval()
            named = isinstance(inputs, dict)
            args, kwargs = ((), inputs) if named else (inputs, None)
            axes = {name: {0: batch} for name in inputs} if named else tuple({0: batch} for _ in inputs)
            outputs = []
            for shapes, values in ((None, inputs), (axes, five_rows(inputs))):
                program = torch.onnx.export(
                    model, args, kwargs=kwargs, dynamic_shapes=shapes, dynamo=True, verbose=False
                )
                outputs.append(check(session_of(program, folder), model, values))
            results[name] = outputs
    return results
