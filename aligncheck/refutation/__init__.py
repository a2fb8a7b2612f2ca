"""The search for a certified violation of the claim of a mechanism."""
