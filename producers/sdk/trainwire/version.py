"""The distribution's version, as every header record carries it (pyproject.toml says the same; a test compares)."""

__version__ = "0.1.0"
