"""The tracer: runs a program on tensors that have sizes but no memory, and records its operators as a graph."""
