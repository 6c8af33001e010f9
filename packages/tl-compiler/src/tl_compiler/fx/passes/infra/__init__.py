"""Frameworks of passes: one pass, several in order, partitions."""
