"""Distances and similarities of vectors."""

from opgen.row import Composite

ROWS = [
    Composite(
        "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
        shape="drop(broadcast(x1.shape, x2.shape), dim)",
        method=False, namespace="_nn",
        doc="The cosine of the angle between vectors along a dimension.",
    ),
    Composite(
        "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor",
        shape="reduction(broadcast(x1.shape, x2.shape), [-1], keepdim)",
        method=False, namespace="_nn",
        doc="The norm of the difference of vectors along the last dimension.",
    ),
    Composite(
        "cdist(Tensor x1, Tensor x2, float p=2.0, int? compute_mode=None) -> Tensor",
        shape="[*broadcast(x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2]]",
        function=False, method=False, autocast="float32",
        doc="The distance of each vector of one collection to each of another.",
    ),
    Composite(
        "pdist(Tensor self, float p=2.0) -> Tensor", shape="[self.shape[0] * (self.shape[0] - 1) // 2]",
        function=False, method=False,
        doc="The distance of each pair of rows.",
    ),
    Composite(
        "norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
        shape=(
            "[] if dim == -1 else [1] * wrap(dim, v.ndim) + [v.shape[dim]] + [1] * (v.ndim - 1 - wrap(dim, "
            "v.ndim))"
        ),
        method=False, namespace="_nn",
        doc="The norm over all dimensions but one, which have size 1 in the result.",
        about={"v": "the tensor that is read", "pow": "the exponent of the norm"},
    ),
    Composite(
        "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
        shape="[] if self.ndim < 2 else squeeze([self.shape[0], self.shape[0]])",
        function=False, method=False,
        doc="The covariances of variables, one a row.",
    ),
    Composite(
        "corrcoef(Tensor self) -> Tensor",
        shape="[] if self.ndim < 2 else squeeze([self.shape[0], self.shape[0]])",
        function=False, method=False,
        doc="The correlations of variables, one a row.",
    ),
]  # fmt: skip
