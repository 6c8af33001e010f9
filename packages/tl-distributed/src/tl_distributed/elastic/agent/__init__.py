"""Agents: the process of a machine that watches its workers."""
