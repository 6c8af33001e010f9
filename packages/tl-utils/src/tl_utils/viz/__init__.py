"""Pictures of the references that keep tensors alive."""
