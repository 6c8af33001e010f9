"""Mistakes with tensors and modules. A comment marks each line in which a type checker reports an error."""

import tl as torch
import tl.nn.functional as F
from tl import Tensor


def misspelt(x: Tensor) -> Tensor:
    return x.sofmax(dim=-1)  # error


def wrong_field(x: Tensor) -> Tensor:
    return x.max(dim=0).index  # error


def missing_argument(x: Tensor) -> Tensor:
    return F.cross_entropy(x)  # error


def wrong_keyword(x: Tensor) -> Tensor:
    return torch.cat([x, x], dims=0)  # error


def not_a_name() -> Tensor:
    return torch.onse(2, 3)  # error


def not_a_tensor(x: Tensor) -> Tensor:
    return torch.matmul(x, "weights")  # error


def wrong_result(x: Tensor) -> int:
    return x.argmax(dim=1)  # error


def optional(x: Tensor) -> float:
    return float(x.grad.norm())  # error
