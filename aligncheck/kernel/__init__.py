"""The proof kernel: decides, from a spec and an untrusted witness, that every condition holds."""
