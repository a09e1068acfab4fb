"""Logs of real frameworks, with the points that the frameworks themselves say they printed.

`INDEX.tsv` says of each log which framework and version wrote it, and which names may be read from it without being points,
and why. To make one anew: an environment with `requirements.txt`, or `requirements-torch.txt` for what stands on PyTorch, then
`python -m tests.frameworks.make_<framework>` in the root of the tree. Nothing here is part of what the project installs.
"""
