"""Passes for all dialects."""
