"""The language: text to checked trees."""
