"""Tables of vectors."""

from opgen.row import Composite, Op

BAG = (
    "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False"
)
FOUR = "(Tensor output, Tensor offset2bag, Tensor bag_size, Tensor max_indices)"

ROWS = [
    Op(
        (
            "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
            "bool sparse=False) -> Tensor"
        ),
        shape="[*indices.shape, weight.shape[1]]",
        method=False,
        core=True,
        grad={
            "weight": (
                "_embedding_sparse_backward(g, indices, weight.size(0), padding_idx, scale_grad_by_freq) if "
                "sparse else embedding_dense_backward(g, indices, weight.size(0), padding_idx, "
                "scale_grad_by_freq)"
            ),
        },
        jvp="linear", batch="rule",
        doc="The rows of a table at the given indices.",
        about={"weight": "the rows, (rows, features)"},
        example=(
            ">>> tl.embedding(tl.tensor([[0.0, 1.0], [2.0, 3.0]]), tl.tensor([1, 0, 1]))\ntensor([[2., 3.],\n"
            "        [0., 1.],\n        [2., 3.]])"
        ),
    ),
    Op(
        (
            "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, "
            "bool scale_grad_by_freq) -> Tensor"
        ),
        shape="[num_weights, *grad_output.shape[-1:]]",
        function=False, method=False,
        core=True,
        grad={"grad_output": "_embedding_double_backward(g, indices, padding_idx, scale_grad_by_freq)"},
        jvp="linear", batch="rule",
        doc="Rows added up at their indices, in order.",
    ),
    Composite(
        (
            "_embedding_double_backward(Tensor grad, Tensor indices, int padding_idx, bool "
            "scale_grad_by_freq) -> Tensor"
        ),
        shape="[*indices.shape, grad.shape[-1]]",
        function=False, method=False,
        doc="The adjoint of embedding_dense_backward.",
    ),
    Op(
        "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
        method=False,
        grad="none:the rows are changed where nothing is recorded",
        jvp="none:changes its input", batch="loop",
        doc="Shortens the rows at the given indices to a norm.",
    ),
    Op(
        f"_embedding_bag({BAG}, int padding_idx=-1) -> {FOUR}",
        shape="bags(weight.shape, indices.shape, offsets.shape, mode, include_last_offset)",
        function=False, method=False,
        core=True,
        grad={
            "weight, per_sample_weights": (
                "_embedding_bag_backward(g0, weight, indices, offset2bag, bag_size, max_indices, "
                "per_sample_weights, scale_grad_by_freq, mode, sparse, padding_idx, needs[0], needs[1])"
            ),
        },
        jvp="linear", batch="loop",
        doc="Sums, means or maxima of bags of rows.",
    ),
    Composite(
        (
            "_embedding_bag_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offset2bag, Tensor "
            "bag_size, Tensor max_indices, Tensor? per_sample_weights, bool scale_grad_by_freq, int mode, "
            "bool sparse, int padding_idx, bool want_weight, bool want_factors) -> (Tensor, Tensor)"
        ),
        function=False, method=False,
        doc="The gradients of _embedding_bag.",
    ),
    Composite(
        f"embedding_bag({BAG}) -> (Tensor, Tensor, Tensor, Tensor)",
        shape="bags(weight.shape, indices.shape, offsets.shape, mode, include_last_offset)",
        method=False,
        doc=(
            "Sums (mode 0), means (1) or maxima (2) of bags of a table's rows; the bag of each index, the "
            "bags' sizes, and what was largest."
        ),
        about={"weight": "the rows, (rows, features)"},
    ),
    Composite(
        (
            "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
            "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
            "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)"
        ),
        shape="bags(weight.shape, indices.shape, offsets.shape, mode, include_last_offset)",
        method=False,
        doc="Bags in which one index counts for nothing.",
        example=(
            ">>> table = tl.tensor([[1.0, 2.0], [10.0, 20.0], [5.0, 5.0]])\n>>> tl.embedding_bag(table, "
            "tl.tensor([0, 1, 2]), tl.tensor([0, 2]))[0]\ntensor([[11., 22.],\n        [ 5.,  5.]])"
        ),
    ),
]  # fmt: skip
