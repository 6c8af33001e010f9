"""Algorithms over collectives: joining with uneven inputs, communication hooks."""

from . import ddp_comm_hooks, model_averaging
from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable", "ddp_comm_hooks", "model_averaging"]
