"""Factorizations and solutions of linear systems: alone, through LAPACK, and in batches of small matrices."""

from __future__ import annotations

from tools.bench.cases import Case, Group

LINALG = Group("linear algebra", mean=1.0, each=1.3)
SMALL = Group("linear algebra, 10,000 matrices of 8x8", each=0.3)
SIZES = (4, 16, 64, 256, 1024)
SLOW = ("eig", "svd", "svdvals", "eigh", "pinv", "matrix_exp")  # seconds at n = 1024: measured up to 256

RUNS = {
    "cholesky": "torch.linalg.cholesky(s)",
    "inv": "torch.linalg.inv(a)",
    "solve": "torch.linalg.solve(a, b)",
    "det": "torch.linalg.det(a)",
    "slogdet": "torch.linalg.slogdet(a)",
    "lu_factor": "torch.linalg.lu_factor(a)",
    "lu": "torch.linalg.lu(a)",
    "qr": "torch.linalg.qr(a)",
    "svd": "torch.linalg.svd(a)",
    "svdvals": "torch.linalg.svdvals(a)",
    "eigh": "torch.linalg.eigh(s)",
    "eigvalsh": "torch.linalg.eigvalsh(s)",
    "eig": "torch.linalg.eig(a)",
    "pinv": "torch.linalg.pinv(a)",
    "lstsq": "torch.linalg.lstsq(a, b)",
    "matrix_exp": "torch.linalg.matrix_exp(a)",
    "solve_triangular": "torch.linalg.solve_triangular(a, b, upper=True)",
    "cholesky_solve": "torch.cholesky_solve(b, s)",
    "ldl_factor": "torch.linalg.ldl_factor(s)",
}


def _setup(n: int, batch: str = "") -> str:
    return (
        f"a = torch.randn({batch}{n}, {n}) / {n} + torch.eye({n})\n"
        f"s = a @ a.mT + torch.eye({n})\nb = torch.randn({batch}{n}, 2)"
    )


CASES = [
    *(
        Case(LINALG, f"{name}, n = {n}", _setup(n), run, rounds=3 if n < 1024 else 2)
        for name, run in RUNS.items()
        for n in SIZES
        if n < 1024 or name not in SLOW
    ),
    *(
        Case(SMALL, name, _setup(8, "10000, "), RUNS[name], rounds=3)
        for name in ("solve", "inv", "cholesky", "det")
    ),
]
