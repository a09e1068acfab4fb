"""How a tool is loaded: as a process on this machine, or as a pod."""
