"""What `aligncheck run` does: a verified mechanism, a column of a CSV file, values for the parameters."""
