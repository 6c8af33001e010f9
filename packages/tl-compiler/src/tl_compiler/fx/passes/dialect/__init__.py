"""Passes for one dialect of graphs."""
