"""Checkpoints of activations, by wrapping modules."""
