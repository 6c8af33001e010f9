"""Comparison of float models and quantized ones, layer by layer."""
