"""e3nn: code that it generates and compiles as TorchScript, with its gradients, saved and loaded."""

import io

import torch
from e3nn import nn, o3
from e3nn.util.jit import compile_mode, script


@compile_mode("script")
class Layer(torch.nn.Module):
    """A convolution of features with directions, and a gate."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Gate("4x0e", [torch.relu], "2x0e", [torch.sigmoid], "2x1o")
        self.product = o3.FullyConnectedTensorProduct("3x0e+2x1o", "1x0e+1x1o", self.gate.irreps_in)
        self.linear = o3.Linear(self.gate.irreps_out, "2x0e+1x1o")

    def forward(self, features: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
        return self.linear(self.gate(self.product(features, directions)))


def main():
    torch.manual_seed(0)
    layer = Layer()
    features, directions = torch.randn(6, 9), torch.randn(6, 3)
    harmonics = o3.SphericalHarmonics("1x0e+1x1o", normalize=True, normalization="component")
    eager = layer(features, harmonics(directions))
    compiled = script(layer)
    out = compiled(features, script(harmonics)(directions))
    out.square().sum().backward()
    buffer = io.BytesIO()
    torch.jit.save(compiled, buffer)
    buffer.seek(0)
    loaded = torch.jit.load(buffer)(features, harmonics(directions))
    return {
        "out": out,
        "gradients": [p.grad for p in compiled.parameters()],
        "same": bool((out == eager).all() and (loaded == out).all()),
        "scripted": isinstance(compiled, torch.jit.ScriptModule),
        "norm": script(o3.Norm("3x0e+2x1o"))(features),
        "rotated": script(o3.FullTensorProduct("1x1o", "1x1o"))(features[:, :3], directions),
    }
