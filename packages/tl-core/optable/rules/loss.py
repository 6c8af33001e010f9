"""Rules of losses over classes and sequences of them."""

from opgen.rule_language import batch, batch_size, results


def _sums(x):
    """The sum of each example."""
    return x.reshape([batch_size, prod(x.shape[1:])]).sum(1, False)


def _weights(scores, safe, ignored, weight):
    """The weight of each target, 0 for an ignored one."""
    if weight is not None:
        by_target = weight.gather(1, safe.reshape([batch_size, prod(safe.shape[1:])])).reshape(safe.shape)
        return by_target.masked_fill(ignored, 0)
    return ones_like(safe, dtype=scores.dtype).masked_fill(ignored, 0)


def _classes(scores, ndim, target, weight, ignore_index):
    """The ignored targets, the dimension of the classes, targets that are valid indices, and the weights."""
    ignored = target == ignore_index
    dim = 1 if ndim == 2 else 2
    safe = target.masked_fill(ignored, 0)
    return ignored, dim, safe, _weights(scores, safe, ignored, weight)


def _reduced(losses, total, reduction):
    if reduction == 0:
        return losses
    if reduction == 2:
        return _sums(losses)
    return _sums(losses) / total


def _per_target(grad, total, target, reduction):
    """The gradient of the loss of each target."""
    if reduction == 0:
        return grad
    return (grad / total if reduction == 1 else grad).reshape([batch_size] + [1] * (target.ndim - 1))


@batch("nll_loss_forward")
def _(self, target, weight, reduction, ignore_index):
    ignored, dim, safe, weights = _classes(self, self.ndim, target, weight, ignore_index)
    total = _sums(weights)
    losses = (-self.gather(dim, safe.unsqueeze(dim)).squeeze(dim) * weights).masked_fill(ignored, 0)
    return _reduced(losses, total, reduction), total


@batch("_nll_loss_backward")
def _(grad, target, weight, sizes, reduction, ignore_index, total_weight):
    ignored, dim, safe, weights = _classes(grad, len(sizes) + 1, target, weight, ignore_index)
    h = _per_target(grad, total_weight, target, reduction)
    zeros = grad.new_zeros([batch_size] + sizes)
    return zeros.scatter_add(
        dim, safe.unsqueeze(dim), (-(h * weights)).masked_fill(ignored, 0).unsqueeze(dim)
    )


@batch("_cross_entropy")
def _(self, target, weight, reduction, ignore_index):
    ignored, dim, safe, weights = _classes(self, self.ndim, target, weight, ignore_index)
    total = _sums(weights)
    log_sums = self.logsumexp(dim, False)
    losses = ((log_sums - self.gather(dim, safe.unsqueeze(dim)).squeeze(dim)) * weights).masked_fill(
        ignored, 0
    )
    return _reduced(losses, total, reduction), log_sums, total


@batch("_cross_entropy_backward")
def _(grad, self, total_weight, target, weight, reduction, ignore_index):
    ignored, dim, safe, weights = _classes(self, self.ndim, target, weight, ignore_index)
    h = _per_target(grad, total_weight, target, reduction)
    c = (h * weights).masked_fill(ignored, 0).unsqueeze(dim)
    # Not by `log_sums`, because a derivative of it would not reach the input.
    return (softmax(self, dim) * c).scatter_add(dim, safe.unsqueeze(dim), -c)


def _merged(x):
    """Numbers of each sample, of all examples."""
    return x.reshape([batch_size * x.shape[1]] + x.shape[2:])


def _samples_of_all(log_probs):
    """The samples of all examples side by side."""
    samples = batch_size * log_probs.shape[2]
    return log_probs.transpose(0, 1).reshape([log_probs.shape[1], samples, log_probs.shape[3]])


@batch("ctc_losses")
def _(log_probs, targets, input_lengths, target_lengths, blank):
    r = results(
        ctc_losses(
            _samples_of_all(log_probs),
            _merged(targets),
            _merged(input_lengths),
            _merged(target_lengths),
            blank,
        )
    )
    sizes = [batch_size, log_probs.shape[2]]
    return r[0].reshape(sizes), r[1].reshape(sizes + r[1].shape[1:])


@batch("_ctc_backward")
def _(grad, log_probs, targets, input_lengths, target_lengths, losses, alphas, blank):
    result = _ctc_backward(
        _merged(grad),
        _samples_of_all(log_probs),
        _merged(targets),
        _merged(input_lengths),
        _merged(target_lengths),
        _merged(losses),
        _merged(alphas),
        blank,
    )
    return result.reshape([log_probs.shape[1], batch_size] + log_probs.shape[2:]).transpose(0, 1)
