"""PyTorch's experiments with graphs, and names of its compiler. README.md describes the folder."""
