"""What is built on collectives: joining with uneven inputs, communication hooks."""

from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
