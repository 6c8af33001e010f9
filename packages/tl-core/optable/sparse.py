"""Tensors of which only some elements are stored."""

from opgen.row import Composite, Op

PLAIN = "none:not differentiable"
NO_BATCHES = "refuse:() takes or makes sparse tensors, of which there are no batches"


def _fact(signature, **fields):
    """A row that tells of a sparse tensor how it is made."""
    fixed = {"function": False, "sparse": "itself", "grad": PLAIN, "jvp": PLAIN, "batch": NO_BATCHES}
    return Op(signature, **fixed, **{"devices": "Any", **fields})


def _on_parts(signature, **fields):
    """A private row on dense tensors, the parts of a matrix in compressed rows."""
    fixed = {"method": False, "devices": "CpuOnly", "jvp": "double-vjp", "batch": NO_BATCHES}
    return Op(signature, **{**fixed, **fields})


ROWS = [
    Op(
        "_sparse_coo_tensor(Tensor indices, Tensor values, int[] size, bool is_coalesced=False) -> Tensor",
        method=False, devices="Any",
        grad={"values": "_values_at(g, result)"},
        jvp="double-vjp", batch=NO_BATCHES,
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
        function=False, devices="Any", sparse="itself",
        grad={"self": "_with_values(self, g)"},
        jvp="double-vjp", batch=NO_BATCHES,
        doc="The stored elements; of a COO tensor, which must be coalesced.",
    ),
    Op(
        "_with_values(Tensor self, Tensor values) -> Tensor",
        method=False, devices="Any", sparse="itself",
        grad={"values": "_values_at(g, self)"},
        jvp="double-vjp", batch=NO_BATCHES,
        doc="A sparse tensor with other elements at the same places.",
    ),
    Op(
        "_values_at(Tensor self, Tensor mask) -> Tensor",
        method=False, devices="Any", sparse="itself",
        grad={"self": "_with_values(mask, g)"},
        jvp="double-vjp", batch=NO_BATCHES,
        doc="The elements where a sparse tensor stores some, in the order and shape of its values.",
    ),
    Op(
        "_sparse_like(Tensor self, Tensor mask, bool masked=True) -> Tensor",
        method=False, devices="Any", sparse="itself",
        grad={"self": "_all_elements(g)"},
        jvp="double-vjp", batch=NO_BATCHES,
        doc="A tensor in the layout of another: at its places, or wherever an element is not zero.",
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
    Composite(
        "coalesce(Tensor self) -> Tensor",
        function=False, sparse="itself",
        doc="The same tensor with its stored elements in order, those at one index added up.",
    ),
    Op(
        "_coalesce(Tensor self) -> Tensor",
        method=False, devices="Any", sparse="itself",
        grad={"self": "g"},
        jvp="double-vjp", batch=NO_BATCHES,
        doc="`coalesce` of a tensor that isn't.",
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
        "_to_dense(Tensor self, bool masked_grad=True) -> Tensor",
        function=False, method=False, devices="Any", sparse="itself",
        grad={"self": "_sparse_like(g, self, masked_grad)"},
        jvp="double-vjp", batch=NO_BATCHES,
        doc="All elements of a sparse tensor.",
    ),
    Op(
        "_all_elements(Tensor self) -> Tensor",
        method=False, devices="Any", sparse="itself",
        grad={"self": "g"},
        jvp="linear", batch=NO_BATCHES,
        doc="All elements of a sparse tensor; its gradient is dense.",
    ),
    Composite(
        "to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor",
        function=False, sparse="itself",
        doc=(
            "All elements of a sparse tensor; a dense one comes back as it is. Its gradient is sparse: at "
            "the places that are stored, or without `masked_grad` wherever it is not zero."
        ),
        example=">>> tl.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (3,)).to_dense()\ntensor([0., 5., 0.])",
    ),
    Op(
        "sparse_mask(Tensor self, Tensor mask) -> Tensor",
        function=False, devices="Any", sparse="itself",
        grad={"self": "_to_dense(sparse_mask(g, mask))"},
        jvp="double-vjp", batch=NO_BATCHES,
        doc="The elements at the places that a sparse tensor stores, as a sparse tensor of its layout.",
    ),
    Op(
        (
            "_sparse_compressed_tensor(Tensor compressed_indices, Tensor plain_indices, Tensor values, int[] "
            "size, Layout layout) -> Tensor"
        ),
        method=False, devices="Any",
        grad={"values": "_values_at(g, result)"},
        jvp="double-vjp", batch=NO_BATCHES,
        doc="A tensor of a sparse compressed layout of its parts, without a look at the indices.",
    ),
    *[
        _fact(f"{name}(Tensor self) -> Tensor", devices="Any", doc=f"The {text}, shared with the tensor.")
        for name, text in (
            ("crow_indices", "compressed row indices of a tensor of the layout sparse_csr or sparse_bsr"),
            ("col_indices", "column indices of a tensor of the layout sparse_csr or sparse_bsr"),
            ("ccol_indices", "compressed column indices of a tensor of the layout sparse_csc or sparse_bsc"),
            ("row_indices", "row indices of a tensor of the layout sparse_csc or sparse_bsc"),
        )
    ],
    *[
        Op(
            f"{name}(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
            function=False, devices="Any", kernel="sparse_only", sparse="sparse_rule",
            grad=PLAIN, jvp=PLAIN, batch=NO_BATCHES,
            doc=text,
        )
        for name, text in (
            ("sparse_resize_", "Another size, and other numbers of sparse and dense dimensions, in place."),
            ("sparse_resize_and_clear_", "Another size, and nothing stored any more, in place."),
        )
    ],
    # ---- compressed indices and products, on their parts ---------------------------------------------------
    _on_parts(
        "_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor",
        grad=PLAIN,
        jvp=PLAIN,
        doc="Where each of `size` rows begins among sorted row indices.",
    ),
    _on_parts(
        (
            "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool "
            "out_int32=False, bool transpose=False) -> Tensor"
        ),
        grad=PLAIN,
        jvp=PLAIN,
        doc="The row and the column of each element; with `transpose` the column first.",
    ),
    _on_parts(
        "_compressed_transpose(Tensor compressed, Tensor plain, int lines) -> (Tensor, Tensor, Tensor)",
        grad=PLAIN,
        jvp=PLAIN,
        doc="Compressed indices by the other dimension, and where each element stood before.",
    ),
    _on_parts(
        "_csr_mm(Tensor crow, Tensor col, Tensor values, Tensor mat) -> Tensor",
        grad={
            "values": "_csr_sampled_mm(crow, col, g, mat.t().conj())",
            "mat": "_csr_mm_transposed(crow, col, values.conj(), g, mat.size(0))",
        },
        doc="The product of a matrix in compressed rows with a dense one.",
    ),
    _on_parts(
        "_csr_mm_transposed(Tensor crow, Tensor col, Tensor values, Tensor mat, int cols) -> Tensor",
        grad={
            "values": "_csr_sampled_mm(crow, col, mat.conj(), g.t())",
            "mat": "_csr_mm(crow, col, values.conj(), g)",
        },
        doc="The product of the transpose of a matrix in compressed rows with a dense one.",
    ),
    _on_parts(
        "_csr_sampled_mm(Tensor crow, Tensor col, Tensor mat1, Tensor mat2) -> Tensor",
        grad={
            "mat1": "_csr_mm(crow, col, g, mat2.t().conj())",
            "mat2": "_csr_mm_transposed(crow, col, g, mat1.conj(), mat2.size(1)).t()",
        },
        doc="The elements of a product of dense matrices at the places of compressed rows.",
    ),
    _on_parts(
        "_bsr_mm(Tensor crow, Tensor col, Tensor values, Tensor mat) -> Tensor",
        grad="none:not implemented: the rule for blocks goes through their elements",
        jvp=PLAIN,
        doc="The product of a matrix of blocks in compressed rows with a dense one.",
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
