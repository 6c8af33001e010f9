"""Pictures of what keeps tensors alive."""
