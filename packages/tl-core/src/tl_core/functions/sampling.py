"""Samples that distributions are made of, and their derivatives by the parameters, under public names.

>>> import tl_core as tl
>>> from tl_core.functions import sampling
>>> sampling.standard_gamma(tl.ones(3)).shape
torch.Size([3])
"""

from __future__ import annotations

from tl_core._C import _dirichlet_grad as dirichlet_grad
from tl_core._C import _sample_dirichlet as sample_dirichlet
from tl_core._C import _standard_gamma as standard_gamma
from tl_core._C import _standard_gamma_grad as standard_gamma_grad

__all__ = ["dirichlet_grad", "sample_dirichlet", "standard_gamma", "standard_gamma_grad"]
