"""A tool for tests: `stub_tool.py HOST PORT PREFIX`. Serves under the prefix; every thread one connection."""

from __future__ import annotations

import http.server
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

HOST, PORT, PREFIX = sys.argv[1], int(sys.argv[2]), sys.argv[3]
EATEN: list[bytearray] = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body go in two writes

    def answer(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        path = url.path.removeprefix(PREFIX)
        length = int(self.headers.get("Content-Length") or 0)
        if path == "/ready":
            self.say(200, b"ready")
        elif path == "/die":
            os._exit(3)
        elif path == "/eat":
            EATEN.append(bytearray(os.urandom(1 << 20)) * int(query["mib"][0]))
            self.say(200, b"eaten")
        elif path == "/stream":  # as many bytes as asked for, at most so many a second
            total, rate = int(query["bytes"][0]), int(query.get("rate", ["0"])[0])
            self.send_response(200)
            self.send_header("Content-Length", str(total))
            if "save" in query:
                self.send_header("Content-Disposition", "attachment; filename=saved")
            self.end_headers()
            block = b"x" * min(65536, rate or 65536)
            while total > 0 and self.command == "GET":
                self.wfile.write(block[:total])
                total -= len(block)
                if rate:
                    time.sleep(len(block) / rate)
        elif path == "/take":  # counts what comes
            taken = 0
            if self.headers.get("Transfer-Encoding") == "chunked":
                while size := int(self.rfile.readline(), 16):
                    while size:
                        got = len(self.rfile.read(min(65536, size)))
                        size -= got
                        taken += got
                    self.rfile.readline()
                self.rfile.readline()
            else:
                while taken < length:
                    taken += len(self.rfile.read(min(65536, length - taken)))
            self.say(200, json.dumps({"taken": taken}).encode())
        elif path == "/events":  # server-sent events, one each tenth of a second
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for number in range(int(query.get("n", ["50"])[0])):
                self.wfile.write(f"data: {number}\n\n".encode())
                self.wfile.flush()
                time.sleep(0.1)
        elif path == "/redirect":
            self.send_response(302)
            self.send_header("Location", query["to"][0].replace("PREFIX", PREFIX))
            self.send_header("Set-Cookie", "tool=1; Path=/; Domain=example.org; HttpOnly")
            self.send_header("Set-Cookie", "trainwire_session=stolen; Path=/")
            self.send_header("Service-Worker-Allowed", "/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path == "/page":
            self.say(200, b"<!doctype html><title>stub</title><h1>stub tool</h1>", "text/html")
        elif path == "/hostile":
            self.say(200, (Path(__file__).with_name("hostile.html")).read_bytes(), "text/html")
        else:
            body = {
                "path": self.path,
                "method": self.command,
                "headers": [[name.lower(), value] for name, value in self.headers.items()],
                "environment": dict(os.environ),
                "body": self.rfile.read(length).decode() if length else "",
            }
            self.say(200, json.dumps(body).encode(), "application/json")

    def say(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = answer

    def log_message(self, format: str, *args: object) -> None:
        pass


time.sleep(float(os.environ.get("STUB_START_SECONDS", "0")))
http.server.ThreadingHTTPServer((HOST, PORT), Handler).serve_forever()
