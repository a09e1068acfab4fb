"""Words that people and tasks make up, and words that somebody types to see what happens."""

# Names that mean something to SQL, to Grafana or to neither (faults.md B55).
NAMES = [
    "d'arc",
    "a--b",
    "x;y",
    "100%",
    "back\\slash",
    "$__all",
    "a,b",
    "{z}",
    "new\nline",
    "❤ emoji",
    "n" * 300,
    "%27",
    "$__timeFilter(x)",
]
# What somebody types into a box to see what happens.
TYPED = [
    "') OR 1=1 --",
    "\\') OR 1=1 --",
    "'; DROP TABLE points; --",
    "$__timeFilter(time)",
    "${task_id}",
    "/*",
    "--",
    "%",
    "\\",
    "'",
]
