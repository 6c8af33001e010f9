"""Samples that gradients pass through."""

import warnings

import tl_core
from tl_core import Tensor
from tl_core.overrides import overridable

__all__ = ["gumbel_softmax"]


@overridable
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    r"""Samples of classes as probabilities (Jang, Gu and Poole, and Maddison, Mnih and Teh, 2016).

    Formula:
        .. math::

            y_i = \frac{\exp\bigl((x_i + g_i) / \tau\bigr)}{\sum_j \exp\bigl((x_j + g_j) / \tau\bigr)}, \qquad
            g_i = -\ln e_i, \quad e_i \sim \mathrm{Exp}(1)

        `x` are the `logits`, `τ` is `tau`, and the sum is over the dimension `dim`. `g` are Gumbel numbers: the
        largest `x + g` is a sample of the distribution `softmax(x)`.

    Args:
        logits (Tensor, shape (*, classes)): Unnormalised log-probabilities.
        tau (float): The temperature: the lower, the nearer samples are to one class.
        hard (bool): Whether samples are one class altogether, with the gradient of the probabilities.
        eps (float): Of no effect.
        dim (int): The dimension of the classes.

    Returns:
        Tensor, of the shape of `logits`, whose sum along `dim` is 1

    Shape:
        - Input: `(*)`, any shape with the dimension `dim`.
        - Output: the shape of the input.

    Notes:
        - With `hard=True` the result is one-hot, and the gradient is that of `y`: the straight-through estimator,
          which is biased.
        - A low temperature gives nearly one-hot results and gradients of high variance.
        - Random numbers come from the default generator: `manual_seed` reproduces them.
        - Source: Jang, Gu and Poole, Categorical Reparameterization with Gumbel-Softmax, 2016. Maddison, Mnih and
          Teh, The Concrete Distribution, 2016.

    Example:
        >>> import tl_core, tl_nn
        >>> sample = tl_nn.functional.gumbel_softmax(tl_core.zeros(2, 5), hard=True)
        >>> sample.sum(-1)
        tensor([1., 1.])
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -tl_core.empty_like(logits, memory_format=tl_core.contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    return tl_core.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft
