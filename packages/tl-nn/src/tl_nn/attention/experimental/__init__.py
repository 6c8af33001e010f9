"""Attention functions that may still change. The module is empty."""
