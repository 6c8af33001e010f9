"""Parts of fx whose interface may change: type checking with unknown sizes, rewriting, partitions, folding."""
