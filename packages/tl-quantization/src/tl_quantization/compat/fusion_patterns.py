"""Handlers of fusions, under the former name of their module."""

from __future__ import annotations

from ..graph.fuse_handler import DefaultFuseHandler, FuseHandler

__all__ = ["DefaultFuseHandler", "FuseHandler"]
