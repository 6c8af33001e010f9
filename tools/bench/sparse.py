"""Products of sparse matrices, at densities from 0.1 to 10 %."""

from __future__ import annotations

from tools.bench.cases import Case, Group

SPARSE = Group("sparse products", mean=0.7, each=0.7)

DENSITIES = {"0.1 %": 0.001, "1 %": 0.01, "10 %": 0.1}


def _matrix(n: int, density: float) -> str:
    return (
        f"torch.manual_seed(0)\nd = torch.randn({n}, {n})\nd[torch.rand({n}, {n}) >= {density}] = 0\n"
        f"a, c = d.to_sparse_csr(), d.to_sparse().coalesce()\nx, b = torch.randn({n}), torch.randn({n}, 64)\n"
        f"left, right = torch.randn({n}, 64), torch.randn(64, {n})"
    )


def _of_density(name: str, density: float) -> list[Case]:
    setup = _matrix(2048, density)
    blocks = (
        "torch.manual_seed(0)\nd = torch.randn(128, 1, 128, 1)\n"
        f"d[torch.rand(128, 1, 128, 1) >= {density}] = 0\n"
        "d = (d * torch.randn(128, 16, 128, 16)).reshape(2048, 2048)\n"
        "a, b = d.to_sparse_bsr((16, 16)), torch.randn(2048, 64)"
    )
    return [
        Case(SPARSE, f"SpMM, CSR, {name}", setup, "a @ b"),
        Case(SPARSE, f"SpMM, COO, {name}", setup, "c @ b"),
        Case(SPARSE, f"SpMM, BSR 16x16, {name}", blocks, "a @ b"),
        Case(SPARSE, f"SpMV, CSR, {name}", setup, "a @ x"),
        Case(SPARSE, f"SpMV, COO, {name}", setup, "c @ x"),
        Case(SPARSE, f"SDDMM, {name}", setup, "torch.sparse.sampled_addmm(a, left, right)"),
    ]


CASES = [case for name, density in DENSITIES.items() for case in _of_density(name, density)]
