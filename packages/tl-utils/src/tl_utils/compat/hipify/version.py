"""The version of the interface."""

__version__ = "1.0.0"
