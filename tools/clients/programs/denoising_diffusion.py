"""denoising-diffusion-pytorch: the loss of a small diffusion model, its gradient, and samples."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D


def main():
    torch.manual_seed(0)
    model = Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
    diffusion = GaussianDiffusion(model, image_size=16, timesteps=10, sampling_timesteps=3)
    loss = diffusion(torch.rand(2, 3, 16, 16))
    loss.backward()
    samples = diffusion.sample(batch_size=1)
    line = GaussianDiffusion1D(Unet1D(dim=16, dim_mults=(1, 2), channels=4), seq_length=16, timesteps=5)
    return {
        "loss": loss,
        "gradient": model.init_conv.weight.grad,
        "samples": samples,
        "line": line(torch.rand(2, 4, 16)),
    }
