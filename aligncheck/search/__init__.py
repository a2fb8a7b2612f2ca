"""Untrusted search: paths, obligations, invariants, failing runs, advice, witnesses."""
