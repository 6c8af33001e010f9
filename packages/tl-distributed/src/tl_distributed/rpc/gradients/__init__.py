"""Derivatives of computations on several workers."""
