"""Softmax and log-softmax."""

from opgen.row import Composite, Op

ROWS = [
    Op(
        "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", shape="self.shape",
        out=True, method=False,
        names="keep", reported="softmax_lastdim_kernel_impl",
        core=True,
        grad={"self": "_softmax_backward_data(g, result, dim, self.dtype)"},
        jvp="double-vjp", batch="dims",
        doc="exp(x) over its sum along a dimension.",
    ),
    Op(
        "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", shape="self.shape",
        out=True, method=False,
        names="keep", reported="log_softmax_lastdim_kernel_impl",
        core=True,
        grad={"self": "_log_softmax_backward_data(g, result, dim, self.dtype)"},
        jvp="double-vjp", batch="dims",
        doc="The logarithm of softmax along a dimension.",
    ),
    Op(
        (
            "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> "
            "Tensor"
        ),
        shape="grad_output.shape",
        out=True, out_name="_softmax_backward_data.out(grad_input)", method=False,
        grad={
            "grad_output": "_softmax_backward_data(g, output, dim, input_dtype)",
            "output": (
                "g * (grad_output - (grad_output * output).sum([dim], True)) - grad_output * (g * "
                "output).sum([dim], True)"
            ),
        },
        jvp="double-vjp", batch="dims",
        doc="The gradient of softmax from its result.",
    ),
    Op(
        (
            "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) "
            "-> Tensor"
        ),
        shape="grad_output.shape",
        out=True, out_name="_log_softmax_backward_data.out", method=False,
        grad={
            "grad_output": "g - (g * output.exp()).sum([dim], True)",
            "output": "-(g * output.exp()) * grad_output.sum([dim], True)",
        },
        jvp="double-vjp", batch="dims",
        doc="The gradient of log_softmax from its result.",
    ),
    Composite(
        "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", shape="self.shape",
        out=True, second_names=("special_softmax",),
        shown="input, dim, *, dtype=None",
        doc="exp(x) over its sum along a dimension: positive, and one in total.",
        example=">>> tl.softmax(tl.tensor([0.0, 0.0]), 0)\ntensor([0.5000, 0.5000])",
    ),
    Composite(
        "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", shape="self.shape",
        out=True, second_names=("special_log_softmax",),
        shown="input, dim, *, dtype=None",
        doc="The logarithm of softmax along a dimension.",
        example=">>> tl.log_softmax(tl.tensor([0.0, 0.0]), 0)\ntensor([-0.6931, -0.6931])",
    ),
]  # fmt: skip
