"""Around every request: an id that is in the answer and in the log, and problem details for what is refused.

Nothing here wraps `send`: a stream pays nothing for it.
"""

import re
from uuid import uuid4

import structlog
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sidecar.errors import BodyTooLarge, Refused
from sidecar.http.body import answer_unread

log = structlog.get_logger("sidecar.http")

_SANE_ID = re.compile(rb"[A-Za-z0-9._\-]{1,128}")

CODES = {404: "not_found", 405: "method_not_allowed"}


class Boundary:
    """The outermost part of the application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope["state"] = {**scope.get("state", {}), "request_id": _request_id(scope), "is_streaming": False}
        scope["app"] = self  # asks Starlette's router to raise rather than to answer by itself
        try:
            await self._app(scope, receive, send)
        except Refused as refused:
            log.info("request refused", **_who(scope), status=refused.status, code=refused.code, detail=str(refused))
            answer = problem(scope, refused.status, refused.code, refused.title, str(refused), **refused.extra)
            if isinstance(refused, BodyTooLarge):
                await answer_unread(answer, receive, send, refused.limit)
            else:
                await answer(scope, receive, send)
        except HTTPException as error:
            await _of_router(scope, error)(scope, receive, send)
        except (Exception, SystemExit):  # an agent's `exit()` must not take the server along
            if state["is_streaming"]:
                raise
            log.exception("request failed", **_who(scope))
            detail = "Something went wrong that is not the request's fault; the log has it under this request id."
            answer = problem(scope, 500, "internal_error", "The server failed", detail)
            await answer(scope, receive, send)


def problem(scope: Scope, status: int, code: str, title: str, detail: str, **extra: object) -> JSONResponse:
    """Problem details of RFC 9457: `code` is stable, `requestId` is in the log."""
    request_id = scope["state"]["request_id"]
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    document = {**body, "requestId": request_id, **extra}
    return JSONResponse(document, status, {"X-Request-Id": request_id}, media_type="application/problem+json")


def _of_router(scope: Scope, error: HTTPException) -> JSONResponse:
    code = CODES.get(error.status_code, "http_error")
    asked = f"{scope['method']} {scope['path']}"
    detail = f"{asked}: {error.detail}. Runs are started by POST / or POST /agents/NAME; GET /agents lists the agents."
    answer = problem(scope, error.status_code, code, error.detail, detail)
    answer.headers.update(error.headers or {})
    return answer


def _request_id(scope: Scope) -> str:
    """The caller's id, if it sent a sane one, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _SANE_ID.fullmatch(value):
            return str(value.decode())
    return uuid4().hex


def _who(scope: Scope) -> dict[str, str]:
    return {"request_id": scope["state"]["request_id"], "method": scope["method"], "path": scope["path"]}
