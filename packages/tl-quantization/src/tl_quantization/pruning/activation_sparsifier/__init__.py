"""Zeros in the inputs of layers."""

from .activation_sparsifier import ActivationSparsifier

__all__ = ["ActivationSparsifier"]
