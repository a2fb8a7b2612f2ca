"""What a spec lacks, found and proved: alignments, claims, repairs, budgets. All of it writes text; the
verdict on that text is `judge`'s alone, so that nothing here is trusted.
"""
