"""perceiver-pytorch: latents attend to pictures with Fourier positions, and queries to latents."""

import torch
from perceiver_pytorch import Perceiver, PerceiverIO


def main():
    torch.manual_seed(0)
    sizes = {"num_latents": 8, "latent_dim": 32, "latent_heads": 2, "cross_dim_head": 8, "latent_dim_head": 8}
    model = Perceiver(
        input_channels=3, input_axis=2, num_freq_bands=4, max_freq=10.0, depth=2, num_classes=10, **sizes
    )
    scores = model(torch.randn(2, 12, 12, 3))
    scores.square().mean().backward()
    queries = PerceiverIO(dim=16, queries_dim=8, logits_dim=10, depth=2, **sizes)
    answers = queries(torch.randn(2, 20, 16), queries=torch.randn(5, 8))
    return {"scores": scores, "gradient": model.latents.grad, "answers": answers}
