# ruff: noqa: E501 - a signature is one line
"""The losses of `nn.functional` as programs."""

from __future__ import annotations

__all__ = ["LOSSES"]

_OLD = "size_average: Optional[bool] = None, reduce: Optional[bool] = None"
_LAST = f'{_OLD}, reduction: str = "mean"'

_REDUCTIONS = """
def _reduction(size_average: Optional[bool], reduce: Optional[bool], reduction: str) -> int:
    own = reduction
    if size_average is not None or reduce is not None:
        own = "mean"
        if reduce is not None and not reduce:
            own = "none"
        elif size_average is not None and not size_average:
            own = "sum"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{own}' instead.")
    if own == "none":
        return 0
    if own == "mean":
        return 1
    if own == "sum":
        return 2
    raise ValueError(f"{own} is not a valid value for reduction")

def _broadcast(input: Tensor, target: Tensor) -> List[Tensor]:
    if input.size() != target.size():
        warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.")
    return aten.broadcast_tensors([input, target])

def _reduce(losses: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return losses.mean()
    if reduction == 2:
        return losses.sum()
    return losses

def _reduce_by_weight(losses: Tensor, weight: Tensor, reduction: int) -> Tensor:
    if weight.size() != losses.size():
        raise ValueError("Inputs and weight must have the same size.")
    if reduction == 1:
        return (losses * weight).sum() / weight.sum()
    return _reduce(losses * weight, reduction)
"""

_PAIRS = """
def mse_loss(input: Tensor, target: Tensor, {last}, weight: Optional[Tensor] = None) -> Tensor:
    code = _reduction(size_average, reduce, reduction)
    pair = _broadcast(input, target)
    if weight is not None:
        return _reduce_by_weight(aten.mse_loss(pair[0], pair[1], 0), weight, code)
    return aten.mse_loss(pair[0], pair[1], code)

def l1_loss(input: Tensor, target: Tensor, {last}, weight: Optional[Tensor] = None) -> Tensor:
    code = _reduction(size_average, reduce, reduction)
    pair = _broadcast(input, target)
    if weight is not None:
        return _reduce_by_weight(aten.l1_loss(pair[0], pair[1], 0), weight, code)
    return aten.l1_loss(pair[0], pair[1], code)

def smooth_l1_loss(input: Tensor, target: Tensor, {last}, beta: float = 1.0) -> Tensor:
    pair = _broadcast(input, target)
    return aten.smooth_l1_loss(pair[0], pair[1], _reduction(size_average, reduce, reduction), beta)

def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Optional[Tensor] = None) -> Tensor:
    code = _reduction(None, None, reduction)
    pair = _broadcast(input, target)
    if weight is not None:
        return _reduce_by_weight(aten.huber_loss(pair[0], pair[1], 0, delta), weight, code)
    return aten.huber_loss(pair[0], pair[1], code, delta)

def kl_div(input: Tensor, target: Tensor, {last}, log_target: bool = False) -> Tensor:
    if reduction == "batchmean" and size_average is None and reduce is None:
        losses = aten.kl_div(input, target, 2, log_target=log_target)
        return losses / input.size(0) if input.dim() > 0 else losses
    return aten.kl_div(input, target, _reduction(size_average, reduce, reduction), log_target=log_target)

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Optional[bool] = None, eps: float = 1e-8, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.poisson_nll_loss(input, target, log_input, full, eps, _reduction(size_average, reduce, reduction))

def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    code = _reduction(None, None, reduction)
    own = var
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            own = var.unsqueeze(-1)
        else:
            different = 0
            if var.dim() == input.dim():
                for i in range(input.dim()):
                    if var.size(i) != input.size(i):
                        different += var.size(i)
            if different != 1:
                raise ValueError("var is of incorrect size")
    if bool((own < 0).any()):
        raise ValueError("var has negative entry/entries")
    variance = own + (own.detach().clamp_min(eps) - own.detach())
    off = input - target
    losses = 0.5 * (variance.log() + off * off / variance)
    return _reduce(losses + 0.9189385332046727 if full else losses, code)

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, {last}) -> Tensor:
    return aten.binary_cross_entropy(input, target, weight, _reduction(size_average, reduce, reduction))

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, {last}, pos_weight: Optional[Tensor] = None) -> Tensor:
    return aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _reduction(size_average, reduce, reduction))
"""

_CLASSES = """
def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    return aten.cross_entropy_loss(input, target, weight, _reduction(size_average, reduce, reduction), ignore_index, label_smoothing)

def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.nll_loss_nd(input, target, weight, _reduction(size_average, reduce, reduction), ignore_index)

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    return aten.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(None, None, reduction), zero_infinity)

def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Optional[Tensor] = None, {last}) -> Tensor:
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    return aten.multi_margin_loss(input, target, p, margin, weight, _reduction(size_average, reduce, reduction))

def multilabel_margin_loss(input: Tensor, target: Tensor, {last}) -> Tensor:
    return aten.multilabel_margin_loss(input, target, _reduction(size_average, reduce, reduction))

def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, {last}) -> Tensor:
    code = _reduction(size_average, reduce, reduction)
    losses = target * -aten.log_sigmoid(input) + (1 - target) * -aten.log_sigmoid(-input)
    if weight is not None:
        losses = losses * weight
    return _reduce(losses.sum(-1) / input.size(-1), code)
"""

_MARGINS = """
def soft_margin_loss(input: Tensor, target: Tensor, {last}) -> Tensor:
    return aten.soft_margin_loss(input, target, _reduction(size_average, reduce, reduction))

def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, {last}) -> Tensor:
    return aten.hinge_embedding_loss(input, target, margin, _reduction(size_average, reduce, reduction))

def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, {last}) -> Tensor:
    return aten.margin_ranking_loss(input1, input2, target, margin, _reduction(size_average, reduce, reduction))

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, {last}) -> Tensor:
    return aten.cosine_embedding_loss(input1, input2, target, margin, _reduction(size_average, reduce, reduction))

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, {last}) -> Tensor:
    return aten.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, _reduction(size_average, reduce, reduction))
"""

LOSSES = _REDUCTIONS + "".join(text.format(last=_LAST) for text in (_PAIRS, _CLASSES, _MARGINS))
