"""transformers, vision: ViT classifies, its image processor scales and normalizes."""

import numpy as np
import torch
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor


def main():
    torch.manual_seed(0)
    sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
    model = ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, num_labels=5, **sizes)).eval()
    image = np.arange(40 * 48 * 3, dtype=np.uint8).reshape(40, 48, 3)
    pixels = ViTImageProcessor(size={"height": 32, "width": 32})(
        images=image, return_tensors="pt"
    ).pixel_values
    out = model(pixels, output_attentions=False)
    out.logits.sum().backward()
    return {"pixels": pixels, "logits": out.logits, "gradient": model.classifier.weight.grad}
