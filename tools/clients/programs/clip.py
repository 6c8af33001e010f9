"""transformers, text and images: CLIP's similarities and its contrastive loss."""

import torch
from transformers import CLIPConfig, CLIPModel


def main():
    torch.manual_seed(0)
    common = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = {"vocab_size": 99, "max_position_embeddings": 16, "eos_token_id": 98, **common}
    vision = {"image_size": 32, "patch_size": 8, **common}
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)).eval()
    tokens, pixels = torch.randint(0, 98, (3, 8)), torch.randn(3, 3, 32, 32)
    tokens[:, -1] = 98
    out = model(input_ids=tokens, pixel_values=pixels, return_loss=True)
    out.loss.backward()
    return {
        "loss": out.loss,
        "similarity": out.logits_per_image,
        "gradient": model.visual_projection.weight.grad,
    }
