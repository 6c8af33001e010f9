"""Layers for quantized networks: fused ones, ones that round in training, and ones of integers."""
