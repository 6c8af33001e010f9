"""Models of `export_for_training` with integers: observers in the graph, then quantize and dequantize."""
