"""Losses against class indices and sequences of them: negative log-likelihood, cross-entropy and CTC."""

from opgen.row import Composite, Op


def _private(signature, **fields):
    return Op(signature, function=False, method=False, jvp="double-vjp", batch="rule", **fields)


ROWS = [
    _private(
        (
            "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) "
            "-> (Tensor output, Tensor total_weight)"
        ),
        shape="[target.shape if reduction == 0 else [], []]",
        reported="nll_loss_out_frame",
        grad={
            "self": (
                "_nll_loss_backward(g0, target, weight, self.shape, reduction, ignore_index, total_weight)"
            ),
        },
        doc="The negative scores of the target classes, and the sum of their weights.",
    ),
    _private(
        (
            "_nll_loss_backward(Tensor grad, Tensor target, Tensor? weight, int[] sizes, int reduction, int "
            "ignore_index, Tensor total_weight) -> Tensor"
        ),
        shape="list(sizes)",
        grad={"grad": "nll_loss_forward(g, target, weight, reduction, ignore_index)"},
        doc="The gradient of nll_loss_forward.",
    ),
    _private(
        (
            "_cross_entropy(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> "
            "(Tensor output, Tensor log_sums, Tensor total_weight)"
        ),
        shape="[[] if reduction else target.shape, target.shape, []]",
        grad={
            "self": (
                "_cross_entropy_backward(g0, self, log_sums, total_weight, target, weight, reduction, "
                "ignore_index)"
            ),
        },
        doc=(
            "The cross entropy of scores and target classes, without the logarithms of all probabilities in "
            "memory."
        ),
    ),
    _private(
        (
            "_cross_entropy_backward(Tensor grad, Tensor self, Tensor log_sums, Tensor total_weight, Tensor "
            "target, Tensor? weight, int reduction, int ignore_index) -> Tensor"
        ),
        shape="self.shape",
        grad={
            "grad, self": (
                "_cross_entropy_double_backward(g, grad, self, total_weight, target, weight, reduction, "
                "ignore_index)"
            ),
        },
        doc="The gradient of _cross_entropy.",
    ),
    Composite(
        (
            "_cross_entropy_double_backward(Tensor u, Tensor grad, Tensor self, Tensor total_weight, Tensor "
            "target, Tensor? weight, int reduction, int ignore_index) -> (Tensor, Tensor)"
        ),
        function=False, method=False,
        doc="The gradients of cross_entropy's gradient.",
    ),
    Composite(
        (
            "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int "
            "ignore_index=-100) -> Tensor"
        ),
        shape="target.shape if reduction == 0 else []",
        method=False, namespace="_nn", autocast="float32",
        doc="The negative log-likelihood of the target classes.",
        about={"target": "the classes"},
    ),
    Composite(
        (
            "cross_entropy_of_classes(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int "
            "ignore_index=-100) -> Tensor"
        ),
        shape="target.shape if reduction == 0 else []",
        method=False, namespace="_nn", autocast="float32",
        doc="The cross entropy of scores and target classes.",
        about={"target": "the classes"},
    ),
    Op(
        (
            "ctc_losses(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int "
            "blank) -> (Tensor losses, Tensor alphas)"
        ),
        shape="[[log_probs.shape[1]], [log_probs.shape[1], log_probs.shape[0], 2 * targets.shape[1] + 1]]",
        method=False, namespace="_nn",
        grad={
            "log_probs": (
                "_ctc_gradient(g0, log_probs, targets, input_lengths, target_lengths, losses, alphas, blank)"
            ),
        },
        jvp="double-vjp", batch="rule",
        doc="The negative log-likelihoods of rows of labels, and the logarithms of the forward recursion.",
    ),
    Op(
        (
            "_ctc_backward(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
            "target_lengths, Tensor losses, Tensor alphas, int blank) -> Tensor"
        ),
        shape="log_probs.shape",
        function=False, method=False,
        grad="none:only runs where nothing is recorded",
        jvp="none:not implemented: only runs where nothing is differentiated", batch="rule",
        doc="The gradient of ctc_losses.",
    ),
    Composite(
        (
            "_ctc_gradient(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
            "target_lengths, Tensor losses, Tensor alphas, int blank) -> Tensor"
        ),
        shape="log_probs.shape",
        function=False, method=False,
        doc="The gradient of ctc_losses; in operators where it is recorded.",
    ),
]  # fmt: skip
