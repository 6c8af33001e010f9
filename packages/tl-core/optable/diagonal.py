"""Diagonals read and made, and the cross product."""

from opgen.row import Composite, Op

ROWS = [
    Op(
        "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
        shape="diag_embed(self.shape, offset, dim1, dim2)",
        devices="Any",
        stored="all",
        grad={"self": "g.diagonal(offset, dim1, dim2)"},
        jvp="linear", batch="dims",
        doc="Zeros with the last dimension written along the diagonal of two new ones.",
        about={"dim1": "the first dimension of the matrices", "dim2": "the second dimension of the matrices"},
        example=">>> tl.diag_embed(tl.tensor([1, 2]))\ntensor([[1, 0],\n        [0, 2]])",
    ),
    Composite(
        "diag(Tensor self, int diagonal=0) -> Tensor", shape="diag(self.shape, diagonal)",
        out=True,
        ref="numpy.diag",
        doc="A vector along the diagonal of a matrix of zeros, or a copy of a matrix's diagonal.",
        example=">>> tl.diag(tl.tensor([[1, 2], [3, 4]]))\ntensor([1, 4])",
    ),
    Composite(
        "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
        function=False,
        doc=(
            "One number along the main diagonal of the tensor itself; with wrap, again in each block of a "
            "tall matrix, a row apart."
        ),
    ),
    Composite(
        "diagflat(Tensor self, int offset=0) -> Tensor",
        shape="[self.numel() + abs(offset), self.numel() + abs(offset)]",
        doc="The flattened tensor along the diagonal of a matrix of zeros.",
        example=">>> tl.diagflat(tl.tensor([1, 2]))\ntensor([[1, 0],\n        [0, 2]])",
    ),
    Composite(
        "trace(Tensor self) -> Tensor", shape="[]",
        autocast="float32",
        ref="numpy.trace",
        doc="The sum of a matrix's diagonal.",
        example=">>> tl.trace(tl.tensor([[1, 2], [3, 4]]))\ntensor(5)",
    ),
    Op(
        "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
        shape="broadcast(self.shape, other.shape)",
        out=True, method=False, namespace="_linalg",
        reported="cross",
        grad={
            "self": "linalg_cross(other.conj(), g, dim=dim)",
            "other": "linalg_cross(g, self.conj(), dim=dim)",
        },
        jvp="double-vjp", batch="dims",
        doc="The cross products of vectors of three elements along a dimension; the others broadcast.",
        example=">>> tl.linalg.cross(tl.tensor([1, 0, 0]), tl.tensor([0, 1, 0]))\ntensor([0, 0, 1])",
    ),
    Composite(
        "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
        shape="broadcast(self.shape, other.shape)",
        out=True,
        doc=(
            "The cross products of vectors of three elements along a dimension: without one, the first of "
            "size three."
        ),
        example=">>> tl.cross(tl.tensor([1, 0, 0]), tl.tensor([0, 1, 0]), dim=0)\ntensor([0, 0, 1])",
    ),
]  # fmt: skip
