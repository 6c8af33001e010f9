"""Layers without their unimportant rows: masks of rows, and the removal of rows and of the columns that read them."""

from .base_structured_sparsifier import BaseStructuredSparsifier
from .fpgm_pruner import FPGMPruner
from .lstm_saliency_pruner import LSTMSaliencyPruner
from .parametrization import BiasHook, FakeStructuredSparsity
from .saliency_pruner import SaliencyPruner

__all__ = [
    "BaseStructuredSparsifier",
    "BiasHook",
    "FPGMPruner",
    "FakeStructuredSparsity",
    "LSTMSaliencyPruner",
    "SaliencyPruner",
]
