"""e3nn: spherical harmonics, tensor products and their equivariance."""

import torch
from e3nn import o3


def main():
    torch.manual_seed(0)
    harmonics = o3.spherical_harmonics([0, 1, 2], torch.randn(5, 3), normalize=True)
    product = o3.FullyConnectedTensorProduct("2x0e+1x1o", "1x0e+1x1o", "2x0e+2x1o", compile_left_right=True)
    a, b = torch.randn(4, 5), torch.randn(4, 4)
    out = product(a, b)
    out.sum().backward()
    turn = o3.rand_matrix()
    turned = product(
        a @ product.irreps_in1.D_from_matrix(turn).T, b @ product.irreps_in2.D_from_matrix(turn).T
    )
    error = (turned - out @ product.irreps_out.D_from_matrix(turn).T).abs().max().item()
    return {"harmonics": harmonics, "out": out, "gradient": product.weight.grad, "equivariant": error < 1e-4}
