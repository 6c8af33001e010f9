"""Affine maps."""

from __future__ import annotations

from tl_core import Tensor, addmm, matmul

__all__ = ["bilinear", "linear"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Parameters
    ----------
    input : Tensor, shape (*, in_features)
        Any number of leading dimensions, none included.
    weight : Tensor, shape (out_features, in_features) or (in_features,)
        A vector gives results without a last dimension.
    bias : Tensor, shape (out_features,) or (), optional
        Added to every result.

    Returns
    -------
    Tensor, shape (*, out_features)

    Raises
    ------
    TypeError
        If ``input`` isn't a tensor.
    RuntimeError
        If the sizes or element types don't fit.

    Examples
    --------
    >>> import tl_core, tl_nn
    >>> tl_nn.functional.linear(tl_core.ones(2, 3), tl_core.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    try:
        rank = input.dim()
    except AttributeError:
        raise TypeError(
            f"linear(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        ) from None
    if bias is None:
        if rank == 0:
            raise RuntimeError(
                f"both arguments to linear need to be at least 1D, but they are 0D and {weight.dim()}D"
            )
        return matmul(input, weight.t())
    if rank == 2:
        return addmm(bias, input, weight.t())
    if rank > 2 and weight.dim() == 2:
        rows = addmm(bias, input.reshape(-1, input.shape[-1]), weight.t())
        return rows.view(*input.shape[:-1], weight.shape[0])
    return linear(input, weight) + bias


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output feature k.

    Parameters
    ----------
    input1 : Tensor, shape (*, in1_features)
        Any number of leading dimensions, none included.
    input2 : Tensor, shape (*, in2_features)
        With the same leading dimensions.
    weight : Tensor, shape (out_features, in1_features, in2_features)
        One matrix for each output feature.
    bias : Tensor, shape (out_features,), optional
        Added to every result.

    Returns
    -------
    Tensor, shape (*, out_features)

    Raises
    ------
    RuntimeError
        If the sizes don't fit.

    Examples
    --------
    >>> import tl_core, tl_nn
    >>> ones = tl_core.ones
    >>> tl_nn.functional.bilinear(ones(2, 3), ones(2, 4), ones(5, 3, 4)).shape
    torch.Size([2, 5])
    """
    leading = input1.shape[:-1]
    if leading != input2.shape[:-1]:
        raise RuntimeError(
            "bilinear(): input batch dimensions do not match: "
            f"got {list(leading)} and {list(input2.shape[:-1])}"
        )
    if weight.dim() != 3 or (input1.shape[-1], input2.shape[-1]) != tuple(weight.shape[1:]):
        raise RuntimeError(
            f"bilinear(): weight of shape {list(weight.shape)} does not match inputs with "
            f"{input1.shape[-1]} and {input2.shape[-1]} features"
        )
    outputs, size1, size2 = weight.shape
    left = input1.reshape(-1, size1)
    halfway = matmul(left, weight.transpose(0, 1).reshape(size1, outputs * size2))
    products = matmul(halfway.reshape(-1, outputs, size2), input2.reshape(-1, size2, 1))
    result = products.reshape(*leading, outputs)
    return result if bias is None else result + bias
