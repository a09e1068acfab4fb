"""Failures as RFC 9457 problem documents: what is wrong and what to do, in one sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from gateway.store import TooMuch
from runtime.errors import PermanentError, TemporaryError

TITLES = {400: "Bad request", 403: "Forbidden", 404: "Not found", 405: "Method not allowed", 421: "Misdirected request",
          429: "Too many requests", 500: "Internal error", 503: "Not now"}  # fmt: skip


class ProblemDocument(BaseModel):
    """How every failure of the API looks, with the media type `application/problem+json`."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class Problem(Exception):
    """Ends a request with this status and sentence."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    body = {"type": "about:blank", "title": TITLES.get(status, "Failed"), "status": status, "detail": detail}
    return Response(json.dumps(body), status, headers, "application/problem+json")


def install(app: FastAPI) -> None:
    """Turn each failure of a route into a problem document."""

    @app.exception_handler(Problem)
    async def _(request: Request, error: Problem) -> Response:  # noqa: ARG001  # FastAPI's signature, here and below
        return problem(error.status, error.detail)

    @app.exception_handler(TemporaryError)
    async def _(request: Request, error: TemporaryError) -> Response:  # noqa: ARG001
        return problem(503, str(error), {"Retry-After": "2"})

    @app.exception_handler(TooMuch)
    async def _(request: Request, error: TooMuch) -> Response:  # noqa: ARG001
        return problem(400, str(error))

    @app.exception_handler(PermanentError)
    async def _(request: Request, error: PermanentError) -> Response:  # noqa: ARG001
        return problem(500, str(error))

    @app.exception_handler(RequestValidationError)
    async def _(request: Request, error: RequestValidationError) -> Response:  # noqa: ARG001
        reasons = (f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}" for one in error.errors())
        return problem(400, "; ".join(reasons))

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> Response:
        detail = f"nothing at {request.url.path[:200]}" if error.status_code == 404 else str(error.detail)
        return problem(error.status_code, detail, error.headers)
