"""Verdicts as documents: a list of typed blocks, drawn as HTML, LaTeX or Markdown."""
