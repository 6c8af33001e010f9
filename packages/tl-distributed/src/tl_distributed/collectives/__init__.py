"""Collectives of tensors and of objects, and messages from one rank to another."""
