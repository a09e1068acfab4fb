"""Viewers on demand: choose a tool, load it, show it, release it, and record it all."""
