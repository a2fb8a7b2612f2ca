"""A verified spec to Python that carries its certificate."""
