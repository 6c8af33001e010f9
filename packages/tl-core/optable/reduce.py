"""Reductions: many elements into one."""

from opgen.row import Composite, Op

PIECEWISE = "none:piecewise constant"


def _private(signature, **fields):
    return Composite(signature, function=False, method=False, **fields)


def _logical(name, text, **fields):
    none = {"grad": PIECEWISE, "jvp": PIECEWISE, "stored": "float8", **fields}
    return [
        Op(
            f"{name}(Tensor self) -> Tensor", **none,
            shape="[]",
            out=True, out_name=f"{name}.all_out",
            batch="rule",
            doc=f"Whether {text}.",
        ),
        Op(
            f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", **none,
            out=True, out_name=f"{name}.out",
            batch="dims",
            doc=f"Whether {text}, along a dimension.",
        ),
        Op(
            f"{name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", **none,
            out=True, out_name=f"{name}.dims_out",
            batch="dims",
            doc=f"Whether {text}, along dimensions.",
        ),
    ]  # fmt: skip


def _extreme(name, word, sign):
    second = {"max": "max_values", "min": "min_indices"}[name]  # the name of the second out argument
    return [
        Op(
            f"{name}(Tensor self) -> Tensor",
            shape="[]",
            out=True, out_name=f"{name}.unary_out",
            grad={"self": "amax_backward(g, self, result, [], False)"},
            jvp="double-vjp", batch="rule",
            doc=f"The {word} element.",
        ),
        Composite(f"{name}.other(Tensor self, Tensor other) -> Tensor", out=True, out_name=f"{name}.out",
                  shape="broadcast(self.shape, other.shape)",
                  doc=f"The {sign} of two elements, as {name}imum."),
        Op(
            f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
            out=True, out_name=f"{name}.dim_{name}({name}, {second})",
            core=True,
            grad={"self": "value_selecting_backward(g0, dim, indices, self.shape, keepdim)"},
            jvp="rule", batch="dims",
            doc=f"The {word} elements along a dimension and their indices.",
        ),
    ]  # fmt: skip


def _spread(name, word):
    grad = {"var": {"self": "var_backward(g, self, dim, correction, keepdim)"},
            "std": {"self": "std_backward(g, result, self, dim, correction, keepdim)"}}[name]  # fmt: skip
    spread = {"var": "None", "std": "result0"}[name]
    return [
        Composite(f"{name}(Tensor self, bool unbiased=True) -> Tensor", shape="[]", reported="std_cpu",
                  doc=f"The {word} of all elements."),
        Composite(
            f"{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
            out=True, out_name=f"{name}.out",
            reported="std_cpu",
            core=name == "var",
            doc=f"The {word} along dimensions.",
        ),
        Op(
            (
                f"{name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
                f"keepdim=False) -> Tensor"
            ),
            reported="std_cpu",
            core=name == "var",
            out=True, shown="input, dim=None, *, correction=1, keepdim=False, out=None",
            grad=grad,
            jvp="double-vjp", batch="dims",
            doc=(
                f"The {word} along dimensions; the sum of squares is divided by the count less the "
                f"correction."
            ),
        ),
        Composite(
            f"{name}_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
            method=False, shape="[[], []]",
            doc=f"The {word} and the mean of all elements.",
        ),
        Composite(
            (
                f"{name}_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
                f"(Tensor, Tensor)"
            ),
            method=False,
            doc=f"The {word} and the mean along dimensions.",
        ),
        Op(
            (
                f"{name}_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
                f"keepdim=False) -> (Tensor, Tensor)"
            ),
            method=False, shown="input, dim=None, *, correction=1, keepdim=False, out=None",
            out=True, out_name=f"{name}_mean.correction_out",
            grad={
                "self": f"_moments_backward(g0, g1, {spread}, self, dim, correction, keepdim)",
            },
            jvp="double-vjp", batch="dims",
            doc=f"The {word} and the mean along dimensions.",
        ),
    ]  # fmt: skip


ROWS = [
    Op(
        "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", shape="[]",
        out=True, sparse="sparse_sum",
        core=True,
        grad={"self": "g.expand(self.shape)"},
        jvp="linear", batch="rule",
        ref="numpy.sum",
        doc="The sum of the elements; of integers and bool in int64.",
        example=(
            ">>> tl.sum(tl.tensor([[1, 2], [3, 4]]))\ntensor(10)\n>>> tl.sum(tl.tensor([[1, 2], [3, 4]]), "
            "0)\ntensor([4, 6])"
        ),
    ),
    Op(
        "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        out=True, out_name="sum.IntList_out",
        core=True,
        grad={"self": "unsum(g, self.shape, dim, keepdim)"},
        jvp="linear", batch="dims",
        doc="The sum along dimensions; None and an empty list mean all.",
    ),
    Op(
        "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", shape="[]",
        out=True, out_name="mean.dtype_out",
        reported="sum_cpu",
        core=True,
        grad={"self": "g.expand(self.shape) / self.numel()"},
        jvp="linear", batch="rule",
        ref="numpy.mean",
        doc="The mean of the elements.",
        example=">>> tl.mean(tl.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)\ntensor([1.5000, 3.5000])",
    ),
    Op(
        "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        out=True, out_name="mean.out",
        reported="sum_cpu",
        core=True,
        grad={"self": "unsum(g, self.shape, dim, keepdim) / (self.numel() / max(result.numel(), 1))"},
        jvp="linear", batch="dims",
        doc="The mean along dimensions.",
    ),
    Op(
        "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
        out=True,
        reported="max_values_cpu",
        core=True,
        grad={"self": "amax_backward(g, self, result, dim, keepdim)"},
        jvp="double-vjp", batch="dims",
        ref="numpy.amax",
        doc="The largest element along dimensions; equal ones share the gradient.",
        example=">>> tl.amax(tl.tensor([[1, 5], [4, 3]]), 1)\ntensor([5, 4])",
    ),
    Op(
        "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
        out=True,
        reported="min_values_cpu",
        core=True,
        grad={"self": "amax_backward(g, self, result, dim, keepdim)"},
        jvp="double-vjp", batch="dims",
        ref="numpy.amin",
        doc="The smallest element along dimensions; equal ones share the gradient.",
        example=">>> tl.amin(tl.tensor([[1, 5], [4, 3]]), 1)\ntensor([1, 3])",
    ),
    *_extreme("max", "largest", "larger"),
    *_extreme("min", "smallest", "smaller"),
    Op(
        "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
        out=True, second_names=("special_logsumexp",),
        devices="Any",
        reported="max_values_cpu",
        grad={"self": "logsumexp_backward(g, self, result, dim, keepdim)"},
        jvp="double-vjp", batch="dims",
        ref="scipy.special.logsumexp",
        doc="The logarithm of the sum of exponentials along dimensions, without overflow.",
        example=">>> tl.logsumexp(tl.tensor([0.0, 0.0]), 0)\ntensor(0.6931)",
    ),
    _private(
        "logsumexp_backward(Tensor grad, Tensor self, Tensor result, int[] dim, bool keepdim) -> Tensor",
        shape="self.shape",
        doc="The derivative of logsumexp.",
    ),
    Op(
        "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        out=True,
        core=True,
        grad="none:the result is an integer",
        jvp="none:the result is an integer", batch="dims",
        ref="numpy.argmax",
        doc="The index of the largest element; of equal ones the first.",
        example=">>> tl.argmax(tl.tensor([[1, 5], [4, 3]]), 1)\ntensor([1, 0])",
    ),
    Op(
        "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        out=True,
        core=True,
        grad="none:the result is an integer",
        jvp="none:the result is an integer", batch="dims",
        ref="numpy.argmin",
        doc="The index of the smallest element; of equal ones the first.",
        example=">>> tl.argmin(tl.tensor([[1, 5], [4, 3]]), 1)\ntensor([0, 1])",
    ),
    *_logical(
        "any", "some element is not zero",
        core=True,
    ),
    *_logical("all", "no element is zero"),
    *_spread("var", "variance"),
    *_spread("std", "standard deviation"),
    _private(
        "var_backward(Tensor grad, Tensor self, int[]? dim, Scalar? correction, bool keepdim) -> Tensor",
        shape="self.shape",
        doc="The derivative of var.",
    ),
    _private(
        (
            "std_backward(Tensor grad, Tensor result, Tensor self, int[]? dim, Scalar? correction, bool "
            "keepdim) -> Tensor"
        ),
        shape="self.shape",
        doc="The derivative of std.",
    ),
    _private(
        (
            "_moments_backward(Tensor? grad_spread, Tensor? grad_mean, Tensor? deviation, Tensor self, "
            "int[]? dim, Scalar? correction, bool keepdim) -> Tensor"
        ),
        shape="self.shape",
        doc="The derivative of var_mean, and with the deviation of std_mean.",
    ),
    _private(
        "amax_backward(Tensor grad, Tensor self, Tensor result, int[] dim, bool keepdim) -> Tensor",
        shape="self.shape",
        doc="The derivative of an extreme value.",
    ),
    _private(
        "value_selecting_backward(Tensor grad, int dim, Tensor indices, int[] sizes, bool keepdim) -> Tensor",
        shape="list(sizes)",
        doc="The adjoint of selecting values along a dimension.",
    ),
    Op(
        "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", shape="[]",
        out=True, shown="input, *, dtype=None", autocast="float32",
        reported="prod_out_cpu",
        core=True,
        grad={"self": "prod_backward(g, self, result)"},
        jvp="double-vjp", batch="rule",
        ref="numpy.prod",
        doc="The product of the elements; of integers and bool in int64.",
        example=">>> tl.prod(tl.tensor([2, 3, 4]))\ntensor(24)",
    ),
    Op(
        "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        out=True, out_name="prod.int_out", autocast="float32",
        reported="prod_out_cpu",
        core=True,
        grad={"self": "prod_dim_backward(g, self, result, dim, keepdim)"},
        jvp="double-vjp", batch="dims",
        doc="The products along a dimension.",
    ),
    _private(
        "prod_backward(Tensor grad, Tensor self, Tensor result) -> Tensor", shape="self.shape",
        doc="The derivative of prod; exact also where factors are zero.",
    ),
    _private(
        "prod_dim_backward(Tensor grad, Tensor self, Tensor result, int dim, bool keepdim) -> Tensor",
        shape="self.shape",
        doc="The derivative of prod along a dimension; exact also where factors are zero.",
    ),
    Composite(
        "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        out=True,
        ref="numpy.nansum",
        doc="The sum of the elements that are not NaN.",
        example=">>> tl.nansum(tl.tensor([1.0, tl.nan]))\ntensor(1.)",
    ),
    Composite(
        "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        out=True,
        ref="numpy.nanmean",
        doc="The mean of the elements that are not NaN.",
        example=">>> tl.nanmean(tl.tensor([1.0, tl.nan, 3.0]))\ntensor(2.)",
    ),
    Composite(
        "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", shape="reduction(self.shape, dim)",
        shown="input, dim=None",
        doc="How many elements are not zero along dimensions.",
        example=">>> tl.count_nonzero(tl.tensor([0, 1, 2]))\ntensor(2)",
    ),
    Composite(
        "count_nonzero(Tensor self, int? dim=None) -> Tensor", shape="reduction(self.shape, dim)",
        shown="input, dim=None",
        doc="How many elements are not zero.",
    ),
    Composite(
        "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
        out=True,
        doc="The smallest and the largest elements along a dimension, or of all.",
        example=(
            ">>> tl.aminmax(tl.tensor([3, 1, 2]))\ntorch.return_types.aminmax(\nmin=tensor(1),\n"
            "max=tensor(3))"
        ),
    ),
    Op(
        (
            "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
            "ScalarType? dtype=None) -> Tensor"
        ),
        out=True, method=False, namespace="_linalg", devices="Any",
        reported="norm_cpu",
        grad={"self": "linalg_vector_norm_backward(g, self, ord, result, dim, keepdim)"},
        jvp="rule", batch="dims",
        doc=(
            "The norm of the elements along dimensions: the ord-th root of the sum of their ord-th powers; "
            "largest and smallest for inf and -inf."
        ),
        example=">>> tl.linalg.vector_norm(tl.tensor([3.0, 4.0]))\ntensor(5.)",
    ),
    _private(
        (
            "linalg_vector_norm_backward(Tensor grad, Tensor self, Scalar ord, Tensor result, int[]? dim, "
            "bool keepdim) -> Tensor"
        ),
        shape="self.shape",
        doc="The derivative of a norm; zero where it has none.",
    ),
    _private(
        "norm.Scalar(Tensor self, Scalar p=2) -> Tensor", shape="[]",
        doc="The norm of all elements.",
    ),
    _private(
        "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
        out=True, out_name="norm.out",
        doc="The norms along dimensions.",
    ),
    _private(
        (
            "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) "
            "-> Tensor"
        ),
        out=True, out_name="norm.dtype_out",
        doc="The norms along dimensions, in another type.",
    ),
    _private(
        "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", shape="[]",
        doc="The norm of all elements, in another type.",
    ),
    Composite(
        "native_norm(Tensor self, Scalar p=2) -> Tensor", shape="[]", declared=False,
        method=False,
        doc="An older name of norm.",
    ),
    Composite(
        (
            "native_norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, ScalarType? "
            "dtype) -> Tensor"
        ),
        shape="reduction(self.shape, dim, keepdim)", declared=False,
        method=False,
        doc="An older name of norm along dimensions.",
    ),
    Composite(
        "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
        declared=False, shape="reduction(self.shape, dim, keepdim)",
        out=True,
        doc=(
            "The exclusive or of the bits of the elements, as uint64. The bits are those of each element as "
            "float64 or int64."
        ),
        about={"mode": "the kind of hash; 0 is the exclusive or, and there is no other"},
        example=">>> tl.hash_tensor(tl.tensor([[1, 2], [4, 8]]), 1)\ntensor([ 3, 12], dtype=torch.uint64)",
    ),
    Composite(
        "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", shape="[]",
        doc="The p-norm of the difference of two tensors.",
        example=">>> tl.dist(tl.tensor([0.0, 0.0]), tl.tensor([3.0, 4.0]))\ntensor(5.)",
    ),
    Op(
        "_distances(Tensor x1, Tensor x2, float p, bool product, bool later) -> Tensor",
        method=False,
        names="pairs",
        grad={
            "x1": "_distances_gradient(g, x1, x2, result, p, product, later, False)",
            "x2": "_distances_gradient(g, x1, x2, result, p, product, later, True)",
        },
        jvp="double-vjp", batch="rule",
        doc=(
            "The distances of all vectors, or, of one collection, of each to the later ones; by a matrix "
            "product for p = 2."
        ),
    ),
    Op(
        "_distances_backward(Tensor grad, Tensor x1, Tensor x2, Tensor distances, float p) -> Tensor",
        shape="x1.shape",
        function=False, method=False,
        grad="none:only runs where nothing is recorded",
        jvp="none:not implemented: only runs where nothing is differentiated", batch="loop",
        doc="The gradient of distances by x1.",
    ),
    _private(
        (
            "_distances_gradient(Tensor grad, Tensor x1, Tensor x2, Tensor distances, float p, bool product, "
            "bool later, bool second) -> Tensor"
        ),
        shape="x2.shape if second else x1.shape",
        doc="The gradient of distances by x1 or the second, x2; in operators where it is recorded.",
    ),
]  # fmt: skip
