"""What is said of a text that is no spec: whoever asks for it raises. Nothing here makes a part of a tree."""
