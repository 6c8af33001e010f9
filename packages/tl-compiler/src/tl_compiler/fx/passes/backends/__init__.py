"""Passes for one backend."""
