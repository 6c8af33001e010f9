"""julius: resampling, filters and long convolutions of sound, one of them scripted."""

import julius
import torch


def main():
    torch.manual_seed(0)
    sound = torch.randn(2, 4000)
    scripted = torch.jit.script(julius.ResampleFrac(5, 4))
    return {
        "resample": julius.resample_frac(sound, 3, 2),
        "scripted": scripted(sound),
        "low": julius.lowpass_filter(sound, 0.1),
        "high": julius.highpass_filter(sound, 0.2),
        "bands": julius.SplitBands(44100, n_bands=4)(sound),
        "convolution": julius.fft_conv1d(sound[:, None], torch.randn(3, 1, 600)),
    }
