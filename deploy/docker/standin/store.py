"""Entry point of the store's stand-in: CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, as in ClickHouse's own image.

The reader, whom a server would be given by SQL, comes from TRAINWIRE_VIEWER_PASSWORD: the engine in a process has no users.
"""

import json
import os
import pathlib
import sys

from deploy.local import front

users = {
    os.environ.get("CLICKHOUSE_USER", "writer"): os.environ.get("CLICKHOUSE_PASSWORD", ""),
    "viewer": os.environ.get("TRAINWIRE_VIEWER_PASSWORD", ""),
}
credentials = pathlib.Path("/run/credentials.json")
credentials.write_text(json.dumps(users))
data = pathlib.Path("/var/lib/clickhouse")
data.mkdir(parents=True, exist_ok=True)
sys.exit(front.main([str(data), "8123", str(credentials), "0.0.0.0"]))  # noqa: S104  # a container's own network
