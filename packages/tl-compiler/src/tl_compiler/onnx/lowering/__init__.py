"""A graph of operators as a graph of ONNX. These modules need the extra `onnx`."""
