"""aligncheck proves that small randomized mechanisms are differentially private, or shows why they are
not.
"""

__version__ = "0.1.0"
