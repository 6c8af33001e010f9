"""Small models of published libraries, as `tools.pt2_peer --libraries` writes and reads them: a function that makes
each, and one that makes its inputs.

They import torch, which is this library's façade on its own side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["MODELS"]


class Field(torch.nn.Module):
    """A model of which one field of the result counts.

    Args:
        model: the model.
        field: the name of the field.
        names: the names of its arguments.
        fixed: arguments that don't change.
    """

    def __init__(self, model: Any, field: str, names: tuple[str, ...], **fixed: Any) -> None:
        super().__init__()
        self.model, self.field, self.names, self.fixed = model, field, names, fixed

    def forward(self, first: Any, second: Any = None) -> Any:
        arguments = dict(
            zip(self.names, (first, second), strict=False)
        )  # a model of one argument has one name
        return getattr(self.model(**arguments, **self.fixed), self.field)


TEXT = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}
WIDTH = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}


def tokens(*shape: int) -> Any:
    return torch.arange(torch.Size(shape).numel()).reshape(shape) % 49


def picture(*shape: int) -> Any:
    return torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)


def of_transformers(
    kind: str, settings: dict[str, Any], names: tuple[str, ...], field: str, **fixed: Any
) -> Any:
    """A model of transformers by the names of its class and configuration."""
    import transformers

    base = kind.removesuffix("LMHeadModel").removesuffix("ForCausalLM").removesuffix("VisionModel")
    base = (
        base.removesuffix("ForConditionalGeneration")
        .removesuffix("Model")
        .removesuffix("ForImageClassification")
    )
    config = getattr(transformers, f"{base}{'Vision' if kind.endswith('VisionModel') else ''}Config")(
        **settings
    )
    config._attn_implementation = "sdpa" if fixed.pop("sdpa", True) else "eager"
    return Field(getattr(transformers, kind)(config).eval(), field, names, **fixed)


def of_timm(name: str, **settings: Any) -> Any:
    """A model of timm by its name."""
    import timm

    return timm.create_model(name, pretrained=False, num_classes=7, **settings).eval()


IDS = ("input_ids", "attention_mask")
Model = tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]
MODELS: dict[str, Model] = {
    "bert": (
        lambda: of_transformers("BertModel", TEXT, IDS, "last_hidden_state"),
        lambda: (tokens(4, 6), torch.ones(4, 6, dtype=torch.int64)),
    ),
    "distilbert": (
        lambda: of_transformers(
            "DistilBertModel",
            {"vocab_size": 50, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
            IDS,
            "last_hidden_state",
        ),
        lambda: (tokens(4, 6), torch.ones(4, 6, dtype=torch.int64)),
    ),
    "gpt2": (
        lambda: of_transformers(
            "GPT2LMHeadModel",
            {"vocab_size": 50, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 16},
            ("input_ids",),
            "logits",
            use_cache=False,
        ),
        lambda: (tokens(4, 6),),
    ),
    "llama": (
        lambda: of_transformers(
            "LlamaForCausalLM", {**TEXT, "num_key_value_heads": 2}, IDS, "logits", use_cache=False
        ),
        lambda: (tokens(4, 6), torch.ones(4, 6, dtype=torch.int64)),
    ),
    "t5": (
        lambda: of_transformers(
            "T5ForConditionalGeneration",
            {"vocab_size": 50, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4},
            ("input_ids", "decoder_input_ids"),
            "logits",
            use_cache=False,
            sdpa=False,
        ),
        lambda: (tokens(4, 6), tokens(4, 5)),
    ),
    "vit": (
        lambda: of_transformers(
            "ViTModel", {**WIDTH, "image_size": 32, "patch_size": 8}, ("pixel_values",), "last_hidden_state"
        ),
        lambda: (picture(4, 3, 32, 32),),
    ),
    "clip": (
        lambda: of_transformers(
            "CLIPVisionModel",
            {**WIDTH, "image_size": 32, "patch_size": 8},
            ("pixel_values",),
            "last_hidden_state",
        ),
        lambda: (picture(4, 3, 32, 32),),
    ),
    "whisper": (
        lambda: of_transformers(
            "WhisperForConditionalGeneration",
            {
                "vocab_size": 50, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "num_mel_bins": 8,
                "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
                "decoder_ffn_dim": 48, "max_source_positions": 10, "max_target_positions": 16, "pad_token_id": 0,
                "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "suppress_tokens": None,
            },
            ("input_features", "decoder_input_ids"),
            "logits",
            use_cache=False,
        ),
        lambda: (picture(4, 8, 20), tokens(4, 5)),
    ),
    "wav2vec2": (
        lambda: of_transformers(
            "Wav2Vec2Model",
            {
                **WIDTH, "conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2),
                "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2,
            },
            ("input_values",),
            "last_hidden_state",
        ),
        lambda: (picture(4, 400),),
    ),
    "segformer": (
        lambda: of_transformers(
            "SegformerForImageClassification",
            {
                "num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [16, 32],
                "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2],
            },
            ("pixel_values",),
            "logits",
        ),
        lambda: (picture(4, 3, 32, 32),),
    ),
    "resnet": (lambda: of_timm("resnet18"), lambda: (picture(4, 3, 64, 64),)),
    "mobilenet": (lambda: of_timm("mobilenetv3_small_050"), lambda: (picture(4, 3, 64, 64),)),
    "convnext": (lambda: of_timm("convnext_atto"), lambda: (picture(4, 3, 64, 64),)),
    "vit_timm": (
        lambda: of_timm("vit_tiny_patch16_224", img_size=64, depth=2),
        lambda: (picture(4, 3, 64, 64),),
    ),
}  # fmt: skip
