"""A task's rows from the store in the form that a tool reads."""
