"""A statistical test of differential privacy for any Python function: evidence, never a proof.

The counterexample generator of the dissertation (Ding, chapter 4, Algorithms 1 to 4; also Ding, Wang, Wang,
Zhang, Kifer, *Detecting Violations of Differential Privacy*, CCS 2018): pairs of inputs, an event that is
chosen on some runs, and an exact test of that event on others. Nothing here knows of specs.
"""
