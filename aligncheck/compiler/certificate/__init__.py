"""Certificates: what must be believed of a proof, as text that anyone can decide again."""
