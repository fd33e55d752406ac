"""Jupyter notebooks, read as one program: the cells with Python code, in order. They are never written."""
