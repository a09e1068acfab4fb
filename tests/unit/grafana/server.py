"""A small HTTP server that answers as Grafana's API documentation says: folders, dashboards, search, data sources.

Source: Grafana's documentation of its HTTP API (dashboard, folder, folder_dashboard_search, data_source), status codes included.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, Any]
TOKEN = "glsa_right"


class Grafana:
    """The state of one Grafana, and every request that was made: (method, path)."""

    def __init__(self) -> None:
        self.folders: dict[str, dict[str, Any]] = {}
        self.dashboards: dict[str, dict[str, Any]] = {}  # uid → {"dashboard": …, "meta": …}
        self.datasources = {"trainwire-clickhouse"}
        self.requests: list[tuple[str, str]] = []
        self.failing = 0  # status to answer everything with
        self.saved_between = ""  # uid of a dashboard that somebody saves just before each update
        self._last_id = 0

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [request for request in self.requests if request[0] != "GET"]

    def add(self, uid: str, title: str, tags: list[str], folder: str = "", provisioned: bool = False) -> None:
        """A dashboard that is there already."""
        model = {"uid": uid, "title": title, "tags": tags, "id": self._number(), "version": 1}
        self.dashboards[uid] = {"dashboard": model, "meta": {"folderUid": folder, "provisioned": provisioned}}

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Answer:
        parts = path.removeprefix("/api/").split("/")
        match method, parts:
            case "GET", ["folders", uid]:
                return (200, self.folders[uid]) if uid in self.folders else (404, _says("folder not found", "not-found"))
            case "POST", ["folders"]:
                return self._create_folder(body)
            case "GET", ["dashboards", "uid", uid]:
                return (200, self.dashboards[uid]) if uid in self.dashboards else (404, _says("Dashboard not found", "not-found"))
            case "DELETE", ["dashboards", "uid", uid]:
                gone = self.dashboards.pop(uid, None)
                return (200, {"title": gone["dashboard"]["title"]}) if gone else (404, _says("Dashboard not found", "not-found"))
            case "POST", ["dashboards", "db"]:
                return self._save(body)
            case "GET", ["search"]:
                return 200, self._search(query)
            case "GET", ["datasources", "uid", uid]:
                return (200, {"uid": uid}) if uid in self.datasources else (404, _says("Data source not found"))
        return 404, _says("Not found")

    def _create_folder(self, body: Any) -> Answer:
        if body["uid"] in self.folders:
            return 409, _says("a folder with the same uid already exists")
        self.folders[body["uid"]] = {"id": self._number(), "uid": body["uid"], "title": body["title"], "version": 1}
        return 200, self.folders[body["uid"]]

    def _save(self, body: Any) -> Answer:
        model = dict(body["dashboard"])
        uid, folder = model["uid"], body.get("folderUid", "")
        if folder and folder not in self.folders:
            return 400, _says("folder not found")
        there = self.dashboards.get(uid)
        if uid == self.saved_between and there:
            there["dashboard"]["version"] += 1
        if there and not body.get("overwrite"):
            if model.get("id") is None:
                return 412, _says("A dashboard with the same uid already exists", "name-exists")
            if model.get("version") != there["dashboard"]["version"]:
                return 412, _says("The dashboard has been changed by someone else", "version-mismatch")
        if not there and model.get("id") is not None:
            return 404, _says("Dashboard not found", "not-found")
        model["id"] = there["dashboard"]["id"] if there else self._number()
        model["version"] = there["dashboard"]["version"] + 1 if there else 1
        model["preload"] = False  # Grafana adds members of its own
        self.dashboards[uid] = {"dashboard": model, "meta": {"folderUid": folder, "provisioned": False}}
        return 200, {"id": model["id"], "uid": uid, "status": "success", "version": model["version"]}

    def _search(self, query: dict[str, list[str]]) -> list[dict[str, Any]]:
        found = []
        for uid, entry in self.dashboards.items():
            tags, folder = entry["dashboard"].get("tags", []), entry["meta"]["folderUid"]
            if set(query.get("tag", [])) <= set(tags) and folder in query.get("folderUIDs", [folder]):
                found.append(
                    {"uid": uid, "title": entry["dashboard"]["title"], "type": "dash-db", "tags": tags, "folderUid": folder}
                )
        return found

    def _number(self) -> int:
        self._last_id += 1
        return self._last_id


def _says(message: str, status: str = "") -> dict[str, str]:
    return {"message": message} | ({"status": status} if status else {})


@contextlib.contextmanager
def running(grafana: Grafana) -> Iterator[str]:
    """Serve it on a free port of this machine; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            pass

        def _serve(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            grafana.requests.append((self.command, url.path))
            if grafana.failing:
                status, answer = grafana.failing, _says("failing")
            elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
                status, answer = 401, _says("Invalid API key")
            else:
                status, answer = grafana.answer(self.command, url.path, parse_qs(url.query), json.loads(body) if body else None)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _serve

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
