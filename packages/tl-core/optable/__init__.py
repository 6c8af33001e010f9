"""The operators, one row each, one file a family."""
