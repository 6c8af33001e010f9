"""Pools of processes to which tensors are sent as shared memory: those of Python's `multiprocessing.pool`."""

from multiprocessing.pool import AsyncResult, Pool, ThreadPool

__all__ = ["AsyncResult", "Pool", "ThreadPool"]
