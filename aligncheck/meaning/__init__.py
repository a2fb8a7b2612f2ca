"""What a spec means: exact runs, alignments applied to them, replays."""
