"""diffusers: a small UNet denoises with two schedulers, an autoencoder encodes and decodes."""

import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMPipeline, DDPMScheduler, UNet2DModel


def main():
    torch.manual_seed(0)
    blocks = {
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    }
    unet = UNet2DModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1, **blocks).eval()
    pictures = DDPMPipeline(unet, DDPMScheduler(num_train_timesteps=50))
    pictures.set_progress_bar_config(disable=True)
    image = pictures(
        batch_size=1, generator=torch.manual_seed(1), num_inference_steps=4, output_type="np"
    ).images
    ddim, sample = DDIMScheduler(num_train_timesteps=50), torch.randn(1, 3, 16, 16)
    ddim.set_timesteps(4)
    with torch.no_grad():
        for step in ddim.timesteps:
            sample = ddim.step(unet(sample, step).sample, step, sample).prev_sample
        coder = AutoencoderKL(block_out_channels=(32,), norm_num_groups=8, latent_channels=2).eval()
        decoded = coder.decode(coder.encode(sample).latent_dist.mode()).sample
    return {"image": image, "sample": sample, "decoded": decoded}
