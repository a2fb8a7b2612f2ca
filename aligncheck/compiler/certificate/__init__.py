"""Certificates: a spec, and the witness with which the kernel accepts the form of it that runs."""
