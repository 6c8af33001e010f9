"""Tensors beside their operators: parameters, sizes, strides, names of dimensions, text, DLPack."""
