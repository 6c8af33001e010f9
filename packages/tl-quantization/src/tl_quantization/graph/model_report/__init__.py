"""Advice on the configuration of a model: detectors watch its values and report by layer."""
