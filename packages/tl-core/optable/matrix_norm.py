"""Norms, condition numbers and ranks of matrices, and the norms of vectors under the same names."""

from opgen.row import Composite

_KEEP = "bool keepdim=False, *, ScalarType? dtype=None"


def _named(signature, shape, doc):
    """A row of a function of the module `linalg` that chooses among overloads."""
    return Composite(signature, shape=shape, function=False, method=False, doc=doc)


_NORM = "The norm of vectors or, with two dimensions and an order, of matrices."
_MATRIX_NORM = "A norm of matrices, the last two dimensions by default."
_COND = "The condition of matrices: the norm of each times that of its inverse."
_RANK = "The number of singular values greater than a tolerance."
_FROBENIUS = "The root of the sum of squares."
_NUCLEAR = "The sum of the singular values of matrices."
_OVER = "reduction(self.shape, dim, keepdim)"
_SOME = "reduction(self.shape, dim or None, keepdim)"

ROWS = [
    _named(f"linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, {_KEEP}) -> Tensor", _OVER, _NORM),
    _named(f"linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, {_KEEP}) -> Tensor", _OVER, _NORM),
    _named(
        f"linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], {_KEEP}) -> Tensor", _OVER,
        _MATRIX_NORM,
    ),
    _named(
        f'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], {_KEEP}) -> Tensor',
        _OVER, _MATRIX_NORM,
    ),
    _named("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", _SOME, _FROBENIUS),
    _named(
        "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", "reduction(self.shape, [-2, -1], keepdim)",
        _NUCLEAR,
    ),
    _named("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", _OVER, _NUCLEAR),
    _named("linalg_cond(Tensor self, Scalar? p=None) -> Tensor", "self.shape[:-2]", _COND),
    _named("linalg_cond.p_str(Tensor self, str p) -> Tensor", "self.shape[:-2]", _COND),
    Composite(
        (
            "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool "
            "hermitian=False) -> Tensor"
        ),
        function=False, method=False,
        doc=_RANK,
    ),
    _named(
        "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", "self.shape[:-2]",
        _RANK,
    ),
    _named(
        "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
        "broadcast(input.shape[:-2], tol.shape)", _RANK,
    ),
    _named(
        (
            "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
            "hermitian=False) -> Tensor"
        ),
        "self.shape[:-2]", _RANK,
    ),
]  # fmt: skip
