"""The generator: from the rows of `optable` to everything that is derived from them."""
