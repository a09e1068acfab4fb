"""The demo: two real training tasks, from their log files to a page, on this machine; and its own check of the truth."""
