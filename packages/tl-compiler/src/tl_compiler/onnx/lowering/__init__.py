"""A graph of operators as a graph of ONNX. These modules need the extra `onnx`, and name it where it is absent."""

from ..libraries import libraries

libraries()
