"""transformers: tiny models are traced, exported with a static cache, and written as ONNX models."""

import io

import onnx
import torch
from onnx.reference import ReferenceEvaluator
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaForCausalLM,
    ViTConfig,
    ViTModel,
)
from transformers.generation.configuration_utils import GenerationConfig
from transformers.integrations.executorch import (
    TorchExportableModuleWithStaticCache,
    convert_and_export_with_cache,
)

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
WORDS = {"vocab_size": 60, "max_position_embeddings": 32}


def models():
    ids = torch.randint(0, 60, (2, 7), generator=torch.Generator().manual_seed(0))
    pixels = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    gpt2 = GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=60, n_positions=32, use_cache=False)
    vit = ViTConfig(**SIZES, image_size=16, patch_size=8)
    for name, kind, config, inputs in (
        (
            "bert",
            BertModel,
            BertConfig(**SIZES, **WORDS),
            {"input_ids": ids, "attention_mask": torch.ones_like(ids)},
        ),
        ("gpt2", GPT2Model, gpt2, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}),
        ("vit", ViTModel, vit, {"pixel_values": pixels}),
    ):
        torch.manual_seed(0)
        config.return_dict = False
        yield name, kind(config).eval(), inputs


def traced(model, inputs):
    program = torch.jit.trace(model, example_kwarg_inputs=inputs, strict=False, check_trace=False)
    buffer = io.BytesIO()
    torch.jit.save(program, buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)(**inputs)[0]


def exported(model, inputs):
    batch = torch.export.Dim("batch", min=2, max=8)
    program = torch.export.export(
        model, (), inputs, dynamic_shapes={name: {0: batch} for name in inputs}, strict=False
    )
    more = {name: torch.cat([value, value[:1]]) for name, value in inputs.items()}
    return program.module()(**more)[0]


def as_onnx(model, inputs):
    program = torch.onnx.export(model, (), kwargs=inputs, dynamo=True, verbose=False)
    onnx.checker.check_model(program.model_proto, full_check=True)
    feeds = {name: value.numpy() for name, value in inputs.items()}
    names = [value.name for value in program.model_proto.graph.input]
    return ReferenceEvaluator(program.model_proto).run(None, {name: feeds[name] for name in names})[0]


def with_cache():
    torch.manual_seed(0)
    config = LlamaConfig(**SIZES, **WORDS, num_key_value_heads=2)
    model = LlamaForCausalLM(config).eval()
    cache = {"batch_size": 1, "max_cache_len": 16}
    model.generation_config = GenerationConfig(
        use_cache=True, cache_implementation="static", max_length=16, cache_config=cache
    )
    program = convert_and_export_with_cache(model)
    return TorchExportableModuleWithStaticCache.generate(program, torch.tensor([[1, 5, 9]]), 6)


def main():
    results = {}
    with torch.no_grad():
        for name, model, inputs in models():
            results[name] = [
                model(**inputs)[0],
                traced(model, inputs),
                exported(model, inputs),
                as_onnx(model, inputs),
            ]
    return results | {"tokens": with_cache()}
