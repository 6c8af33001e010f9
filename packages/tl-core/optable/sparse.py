"""Tensors of the layout sparse_coo, of which only some elements are stored."""

from opgen.row import Composite, Op

PLAIN = "none:not differentiable"


def _fact(signature, **fields):
    """A row that tells of a sparse tensor how it is made."""
    fixed = {"function": False, "sparse": "itself", "grad": PLAIN, "jvp": PLAIN, "batch": "loop"}
    return Op(signature, **fixed, **{"devices": "CpuOnly", **fields})


ROWS = [
    Op(
        "_sparse_coo_tensor(Tensor indices, Tensor values, int[] size, bool is_coalesced=False) -> Tensor",
        method=False, devices="CpuOnly",
        grad={"values": "sparse_mask(g, _sparse_coo_tensor(indices, values, size, is_coalesced))._values()"},
        jvp="none:not implemented", batch="loop",
        doc="A sparse tensor of its parts, without a look at the indices.",
    ),
    _fact(
        "_indices(Tensor self) -> Tensor",
        doc="The places of the stored elements, one a column; also of a tensor that isn't coalesced.",
    ),
    _fact(
        "_values(Tensor self) -> Tensor",
        doc="The stored elements outside the graph of derivatives; also of a tensor that isn't coalesced.",
    ),
    _fact(
        "indices(Tensor self) -> Tensor",
        doc="The places of the stored elements of a coalesced tensor, one a column.",
    ),
    Op(
        "values(Tensor self) -> Tensor",
        function=False, devices="CpuOnly", sparse="itself",
        grad={"self": "_sparse_coo_tensor(self._indices(), g, self.shape, True)"},
        jvp="none:not implemented", batch="loop",
        doc="The stored elements of a coalesced tensor.",
    ),
    _fact(
        "_nnz(Tensor self) -> int",
        doc="The number of stored elements.",
    ),
    _fact(
        "is_coalesced(Tensor self) -> bool",
        doc="Whether the stored elements are known to be in order, and no two of them at one place.",
    ),
    _fact(
        "_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)",
        doc="Says whether the tensor is coalesced.",
    ),
    Op(
        "coalesce(Tensor self) -> Tensor",
        function=False, devices="CpuOnly", sparse="itself",
        grad={"self": "g"},
        jvp="none:not implemented", batch="loop",
        doc="The same tensor with its stored elements in order, those at one place added up.",
    ),
    _fact(
        "sparse_dim(Tensor self) -> int",
        devices="Any",
        doc="The number of sparse dimensions.",
    ),
    _fact(
        "dense_dim(Tensor self) -> int",
        devices="Any",
        doc="The number of dense dimensions.",
    ),
    Op(
        "_to_dense(Tensor self) -> Tensor",
        function=False, method=False, devices="CpuOnly", sparse="itself",
        grad={"self": "sparse_mask(g, self.coalesce())"},
        jvp="none:not implemented", batch="loop",
        doc="All elements of a sparse tensor.",
    ),
    Composite(
        "to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor",
        function=False, sparse="itself",
        doc="All elements of a sparse tensor; a dense one comes back as it is.",
        example=">>> tl.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (3,)).to_dense()\ntensor([0., 5., 0.])",
    ),
    Op(
        "sparse_mask(Tensor self, Tensor mask) -> Tensor",
        function=False, devices="CpuOnly", sparse="itself",
        grad={"self": "_to_dense(g)"},
        jvp="none:not implemented", batch="loop",
        doc="The elements at the places that a sparse tensor stores, as a sparse tensor.",
    ),
    Composite(
        "to_sparse(Tensor self, int? sparse_dim=None, *, Layout? layout=None) -> Tensor",
        function=False, sparse="itself",
        doc="The elements that aren't zero as a sparse tensor; its last dimensions can stay dense.",
    ),
    Composite(
        (
            "_embedding_sparse_backward(Tensor grad_output, Tensor indices, int num_weights, int "
            "padding_idx, bool scale_grad_by_freq) -> Tensor"
        ),
        function=False, method=False,
        doc="The gradient of a table as a sparse tensor, a row for each index.",
    ),
]  # fmt: skip
