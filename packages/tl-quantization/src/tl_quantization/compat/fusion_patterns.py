"""Handlers of fusions, under the former name of their module."""

from __future__ import annotations

from ..graph.fuse_handler import DefaultFuseHandler as DefaultFuseHandler
from ..graph.fuse_handler import FuseHandler as FuseHandler
