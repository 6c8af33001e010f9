"""Measures one module against a peer that answers to the same API."""
