"""Witnesses for the kernel: guessed from what the prover found, fitted to what the kernel takes, written as
text.

Nothing here needs to be believed.
"""
