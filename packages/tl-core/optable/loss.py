"""Losses of elements, pairs, classes and sequences."""

from opgen.row import Composite, Op


def _private(signature, **fields):
    return Op(signature, function=False, method=False, jvp="double-vjp", batch="rule", **fields)


def _loss(signature, **fields):
    return Composite(signature, method=False, namespace="_nn", autocast="float32", **fields)


_PAIR = "Tensor self, Tensor target"
_REDUCED = f"{_PAIR}, int reduction=1"
_TWO = "Tensor input1, Tensor input2, Tensor target"

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
            "weight": "_derivative_not_implemented(g0, 'nll_loss_forward with respect to weight')",
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
            "weight": "_derivative_not_implemented(g0, 'cross_entropy_loss with respect to weight')",
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
    *(
        Composite(
            (
                f"{name}(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int "
                "ignore_index=-100) -> Tensor"
            ),
            kernel="nll_loss_nd", shape="target.shape if reduction == 0 else []",
            method=False, namespace="_nn", autocast="float32",
            doc=f"The negative log-likelihood of the target classes{which}.",
            about={"target": "the classes"},
        )
        for name, which in (("nll_loss_nd", ""), ("nll_loss", " of vectors"), ("nll_loss2d", " of images"))
    ),
    _loss(
        (
            "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int "
            "ignore_index=-100, float label_smoothing=0.0) -> Tensor"
        ),
        shape=(
            "[] if reduction else target.shape if target.ndim < self.ndim or (self.ndim == 1 and self.shape "
            "!= target.shape) else drop(self.shape, min(self.ndim - 1, 1))"
        ),
        doc="The cross entropy of scores and target classes, or probabilities of classes.",
        about={"target": "the classes, or a probability for each score"},
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
    # ---- sequences -----------------------------------------------------------------------------------------
    *(
        _loss(
            (
                f"ctc_loss.{overload}(Tensor log_probs, Tensor targets, {kind} input_lengths, {kind} "
                f"target_lengths, "
                "int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor"
            ),
            shape="[] if reduction or log_probs.ndim == 2 else [log_probs.shape[1]]",
            doc="The negative log-likelihoods of sequences of labels, for any alignment.",
        )
        for overload, kind in (("IntList", "int[]"), ("Tensor", "Tensor"))
    ),
    # ---- elements ------------------------------------------------------------------------------------------
    *(
        _loss(
            f"{name}({arguments}) -> Tensor",
            shape="[] if reduction else broadcast(self.shape, target.shape)",
            doc=f"{doc}, reduced.",
        )
        for name, arguments, doc in (
            ("mse_loss", _REDUCED, "The squared difference of each element"),
            ("l1_loss", _REDUCED, "The absolute difference of each element"),
            ("soft_margin_loss", _REDUCED, "`log(1 + exp(-x y))` of each element"),
            (
                "smooth_l1_loss",
                f"{_REDUCED}, float beta=1.0",
                "`d^2 / (2 beta)` below `beta`, then `d - beta / 2`, of the absolute difference `d`",
            ),
            (
                "huber_loss",
                f"{_REDUCED}, float delta=1.0",
                "`d^2 / 2` up to `delta`, then `delta (d - delta / 2)`, of the absolute difference `d`",
            ),
            (
                "kl_div",
                f"{_REDUCED}, *, bool log_target=False",
                "`y (log y - x)` for logarithms `x` and probabilities `y`",
            ),
            (
                "hinge_embedding_loss",
                f"{_PAIR}, float margin=1.0, int reduction=1",
                "`x` where the target is 1, and `margin - x`, at least 0, where it is -1",
            ),
        )
    ),
    _loss(
        (
            "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int "
            "reduction) -> Tensor"
        ),
        shape="[] if reduction else broadcast(input.shape, target.shape)",
        doc="The negative log-likelihood of counts from Poisson distributions, reduced.",
    ),
    *(
        _loss(
            f"{name}({_PAIR}, Tensor? weight=None, {further}int reduction=1) -> Tensor",
            shape=f"[] if reduction else broadcast(self.shape, target.shape, sizes(weight){more})",
            doc=f"The binary cross entropy of {what}, reduced.",
        )
        for name, further, more, what in (
            ("binary_cross_entropy", "", "", "probabilities"),
            (
                "binary_cross_entropy_with_logits",
                "Tensor? pos_weight=None, ",
                ", sizes(pos_weight)",
                "scores",
            ),
        )
    ),
    # ---- pairs and triplets --------------------------------------------------------------------------------
    _loss(
        f"margin_ranking_loss({_TWO}, float margin=0.0, int reduction=1) -> Tensor",
        shape="[] if reduction else broadcast(input1.shape, input2.shape, target.shape)",
        doc="`margin - y (x1 - x2)`, at least 0, for targets `y` of 1 and -1, reduced.",
    ),
    _loss(
        f"cosine_embedding_loss({_TWO}, float margin=0.0, int reduction=1) -> Tensor",
        shape=(
            "[] if reduction else broadcast(target.shape, drop(input1.shape, target.ndim), "
            "drop(input2.shape, target.ndim))"
        ),
        doc="`1 - cos` where the target is 1, and `cos - margin`, at least 0, where it is -1, reduced.",
    ),
    _loss(
        (
            "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float "
            "p=2.0, float eps=1e-06, bool swap=False, int reduction=1) -> Tensor"
        ),
        shape="[] if reduction else broadcast(anchor.shape, positive.shape, negative.shape)[:-1]",
        doc="How much farther positive samples are than negative ones, plus a margin, at least 0, reduced.",
    ),
    # ---- margins of classes --------------------------------------------------------------------------------
    _loss(
        (
            f"multi_margin_loss({_PAIR}, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) "
            "-> Tensor"
        ),
        shape="[] if reduction else target.shape",
        doc="How much scores of other classes exceed that of the target less a margin, reduced.",
        about={"target": "the classes"},
    ),
    _loss(
        f"multilabel_margin_loss({_REDUCED}) -> Tensor", shape="[] if reduction else self.shape[:-1]",
        doc="How much scores of other classes exceed those of the targets less 1, reduced.",
        about={"target": "the classes of each row, up to the first that is negative"},
    ),
    # ---- gradients that programs call ----------------------------------------------------------------------
    *(
        Composite(
            f"{name}_backward(Tensor grad_output, {_PAIR}, {further}) -> Tensor",
            shape="broadcast(self.shape, target.shape, grad_output.shape)",
            function=False, method=False,
            doc=f"The gradient of {name}.",
        )
        for name, further in (
            ("mse_loss", "int reduction"),
            ("smooth_l1_loss", "int reduction, float beta"),
            ("huber_loss", "int reduction, float delta"),
            ("soft_margin_loss", "int reduction"),
            ("binary_cross_entropy", "Tensor? weight=None, int reduction=1"),
        )
    ),
    Composite(
        "glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", shape="self.shape",
        function=False, method=False,
        doc="The gradient of glu.",
    ),
]  # fmt: skip
