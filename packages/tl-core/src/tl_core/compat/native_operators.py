"""Operators that PyTorch's modules in C++ (`torch._C._nn`, `torch._C._linalg`) have as functions."""

from __future__ import annotations

from tl_core.operators.packets import aten

_linalg_eigvals = aten._linalg_eigvals
flatten_dense_tensors = aten.flatten_dense_tensors
linalg_cond = aten.linalg_cond
linalg_diagonal = aten.linalg_diagonal
linalg_matrix_norm = aten.linalg_matrix_norm
linalg_matrix_rank = aten.linalg_matrix_rank
linalg_norm = aten.linalg_norm
rrelu_with_noise = aten.rrelu_with_noise
rrelu_with_noise_ = aten.rrelu_with_noise_
slow_conv3d = aten.slow_conv3d
slow_conv_dilated2d = aten.slow_conv_dilated2d
slow_conv_dilated3d = aten.slow_conv_dilated3d
slow_conv_transpose2d = aten.slow_conv_transpose2d
slow_conv_transpose3d = aten.slow_conv_transpose3d
thnn_conv2d = aten.thnn_conv2d
unflatten_dense_tensors = aten.unflatten_dense_tensors
