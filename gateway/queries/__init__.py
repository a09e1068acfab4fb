"""Questions to the store: functions of a `Query` and arguments, that give plain data. They read views, never tables."""
