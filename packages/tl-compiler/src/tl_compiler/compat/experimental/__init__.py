"""PyTorch's experiments with graphs: gradual types, rewriting, partitions, constant folding."""
