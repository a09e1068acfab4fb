"""Serves the built page. The document learns its prefix from a `base` element, so that it lives under any."""

from __future__ import annotations

import html
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

STATIC = Path(__file__).parent / "static"
UNBUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>trainwire</title>
<h1>The page is not built yet</h1>
<p>Run <code>gateway/page/build.sh</code> once (it needs Node 20.19 or later), and reload.</p>
<p>The <a href="api/v1/tasks">read API</a> works without it.</p></html>
"""

router = APIRouter(include_in_schema=False)


class Assets(StaticFiles):
    """Built files carry a hash of their content in their names: whoever has one never needs to ask again."""

    async def get_response(self, path: str, scope: object) -> Response:
        response = await super().get_response(path, scope)  # type: ignore[arg-type]  # starlette's Scope
        if response.status_code == 200:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def assets(static: Path = STATIC) -> StaticFiles:
    return Assets(directory=static / "assets", check_dir=False)


@router.get("/")
async def home(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}/tasks")


@router.get("/tasks")
@router.get("/tasks/{task_id}")
async def page(request: Request) -> Response:
    document: Path = request.app.state.static / "index.html"
    base = f'<base href="{html.escape(request.scope.get("root_path", ""))}/">'
    if not document.exists():
        return HTMLResponse(UNBUILT.replace("<title>", base + "<title>"), 503)
    text = document.read_text("utf-8").replace("<head>", f"<head>{base}", 1)
    return HTMLResponse(text, headers={"Cache-Control": "no-cache"})
