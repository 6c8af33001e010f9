"""Versions of the installed library `packaging`."""

from importlib import import_module


def __getattr__(name: str) -> object:
    return getattr(import_module("packaging.version"), name)
