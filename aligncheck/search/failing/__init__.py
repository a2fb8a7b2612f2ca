"""The search for failing runs: what the kernel would ask of small inputs, asked the other way round."""
