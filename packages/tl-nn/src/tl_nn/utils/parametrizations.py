"""Ready-made parametrizations."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import tl_core
from tl_core import Tensor, linalg, no_grad

from ..modules.module import Module
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def norm_except(v: Tensor, dim: int) -> Tensor:
    """The 2-norm over all dimensions but one, which keeps its place. -1 is over all."""
    if dim == -1:
        return (v * v).sum().sqrt()
    dims = [d for d in range(v.dim()) if d != dim % v.dim()]
    return (v * v).sum(dims, keepdim=True).sqrt() if dims else v.abs()


class _WeightNorm(Module):
    """A direction scaled to given lengths."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The direction `weight_v` with the lengths `weight_g`."""
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The lengths, and a direction."""
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train length and direction of a weight by themselves (Salimans and Kingma, 2016).

    Args:
        module (Module): The module.
        name (str): The weight.
        dim (int, optional): The dimension with a length for each index. None selects one length.

    Returns:
        Module: `module`, whose lengths are `parametrizations.weight.original0`, its direction `original1`.

    Example:
        >>> import tl_nn
        >>> layer = tl_nn.utils.parametrizations.weight_norm(tl_nn.Linear(20, 40))
        >>> layer.parametrizations.weight.original0.shape
        torch.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def upgrade(state_dict: Any, prefix: str, *rest: Any) -> None:
        """Load the state of the older function of this name."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{number}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(upgrade)
    return module


class _SpectralNorm(Module):
    """A matrix divided by its largest singular value, which power iteration estimates."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if dim >= weight.dim() or dim < -weight.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.dim()}, {weight.dim() - 1}] "
                f"but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % weight.dim()
        self.eps = eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight.detach())
            height, width = matrix.shape
            for name, size in (("_u", height), ("_v", width)):
                vector = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(name, unit(vector, eps))
            self._iterate(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            dims = [d for d in range(weight.dim()) if d != self.dim]
            weight = weight.permute(self.dim, *dims)
        return weight.flatten(1)

    @no_grad()
    def _iterate(self, matrix: Tensor, count: int) -> None:
        for _ in range(count):
            self._u.copy_(unit(tl_core.mv(matrix, self._v), self.eps))
            self._v.copy_(unit(tl_core.mv(matrix.T, self._u), self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """The weight divided by its largest singular value."""
        if weight.dim() == 1:
            return unit(weight, self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Copies, because the next iteration would change tensors that backward needs.
        u, v = self._u.clone(), self._v.clone()
        return weight / tl_core.dot(u, tl_core.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself, which only is right if its largest singular value is 1."""
        return value


def unit(vector: Tensor, eps: float) -> Tensor:
    """The vector divided by its length."""
    return vector / (vector * vector).sum().sqrt().clamp(min=eps)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value, estimated by power iteration (Miyato et al., 2018).

    Args:
        module (Module): The module.
        name (str): The weight, taken as a matrix.
        n_power_iterations (int): The number of iterations in each call in training.
        eps (float): The smallest length divided by.
        dim (int, optional): The dimension of the outputs, by default 0, and 1 for transposed convolutions.

    Returns:
        Module: `module`

    Raises:
        ValueError: If there is no such parameter, or the number isn't positive.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.utils.parametrizations.spectral_norm(tl_nn.Linear(3, 3), n_power_iterations=50)
        >>> bool((layer.weight * layer.weight).sum() < 3 + 1e-3)
        True
    """
    weight = _parameter(module, name)
    if dim is None:
        dim = default_dim(module)
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


def default_dim(module: Module) -> int:
    """The dimension of the outputs in a module's weight."""
    from ..modules.conv import _ConvTransposeNd

    return 1 if isinstance(module, _ConvTransposeNd) else 0


def _parameter(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Any matrix turned into one with orthogonal columns, or rows."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """An orthogonal matrix for `X`, shape (*, m, n)."""
        height, width = X.size(-2), X.size(-1)
        flipped = height < width
        if flipped:
            X, height, width = X.mT, width, height
        if self.orthogonal_map is _OrthMaps.householder:
            Q = _householder(X)
        else:
            Q = self._from_skew(X, height, width)
        if getattr(self, "base", None) is not None:
            Q = self.base @ Q
        return Q.mT if flipped else Q

    def _from_skew(self, X: Tensor, height: int, width: int) -> Tensor:
        X = X.tril()
        if height != width:
            X = tl_core.cat([X, X.new_zeros((*X.shape[:-1], height - width))], -1)
        skew = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            Q = linalg.matrix_exp(skew)
        else:
            one = tl_core.eye(height, dtype=X.dtype, device=X.device)
            Q = linalg.solve(one - skew * 0.5, one + skew * 0.5)
        return Q[..., :width] if height != width else Q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """A matrix that `forward` maps to `Q`."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        flipped = Q.size(-2) < Q.size(-1)
        matrix = Q.mT if flipped else Q
        height, width = matrix.size(-2), matrix.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            A, tau = tl_core.geqrf(matrix)
            A.diagonal(dim1=-2, dim2=-1).sign_()
            A.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
            return A.mT if flipped else A
        if height == width and _is_orthogonal(matrix):
            self.base = matrix.clone()
        else:
            columns = tl_core.randn(*matrix.shape[:-2], height, height - width, dtype=matrix.dtype)
            self.base = _orthonormal(tl_core.cat([matrix, columns.to(matrix.device)], -1))
        start = tl_core.zeros_like(Q)  # all three maps turn it into the identity
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def _householder(X: Tensor) -> Tensor:
    A = X.tril(diagonal=-1)
    tau = 2.0 / (1.0 + (A * A).sum(-2))
    Q = linalg.householder_product(A, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def _is_orthogonal(Q: Tensor) -> bool:
    width = Q.size(-1)
    one = tl_core.eye(width, dtype=Q.dtype, device=Q.device)
    eps = 10.0 * width * tl_core.finfo(Q.dtype).eps
    return bool(((Q.mH @ Q - one).abs() <= eps).all())


def _orthonormal(X: Tensor) -> Tensor:
    """The nearest columns that are orthonormal, by the QR decomposition."""
    Q, R = linalg.qr(X)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix orthogonal, or with orthonormal rows or columns (Lezcano-Casado, 2019).

    Args:
        module (Module): The module.
        name (str): The matrix, shape (*, m, n).
        orthogonal_map (str, optional): "matrix_exp", "cayley" or "householder", by default the first for square
            or complex matrices and the last for others.
        use_trivialization (bool): Whether the map is relative to the present matrix.

    Returns:
        Module: `module`

    Raises:
        ValueError: If there is no such tensor, it isn't a matrix, or the map has another name.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = orthogonal(tl_nn.Linear(3, 3))
        >>> tl_core.allclose(layer.weight @ layer.weight.T, tl_core.eye(3), atol=1e-5)
        True
    """
    weight = _parameter(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    register_parametrization(module, name, parametrization, unsafe=True)
    return module
