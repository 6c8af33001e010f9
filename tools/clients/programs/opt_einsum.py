"""opt_einsum: contracts tensors along the path that it finds; torch.einsum asks it, too."""

import opt_einsum
import torch


def main():
    torch.manual_seed(0)
    a, b, c, d = (torch.randn(*shape, dtype=torch.float64) for shape in ((4, 5), (5, 6, 3), (3, 7), (7, 4)))
    path, _ = opt_einsum.contract_path("ij,jkl,lm,mi->k", a, b, c, d)
    expression = opt_einsum.contract_expression("ij,jkl,lm,mi->k", a.shape, b.shape, c.shape, d.shape)
    return {
        "path": [list(step) for step in path],
        "contract": opt_einsum.contract("ij,jkl,lm,mi->k", a, b, c, d),
        "expression": expression(a, b, c, d, backend="torch"),
        "torch": torch.einsum("ij,jkl,lm,mi->k", a, b, c, d),
    }
