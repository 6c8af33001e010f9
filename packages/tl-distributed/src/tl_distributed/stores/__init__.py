"""Stores of keys and values through which ranks meet, and the rendezvous that opens one."""
