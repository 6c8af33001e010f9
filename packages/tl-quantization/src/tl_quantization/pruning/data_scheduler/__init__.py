"""Schedules of the sparsifiers of tensors."""

from .base_data_scheduler import BaseDataScheduler

__all__ = ["BaseDataScheduler"]
