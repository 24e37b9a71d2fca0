"""The route or the task that a stack serves: a template or a name, never a path or an argument.

Frames' variables are read without running code of the host; see `gblock.probing.callee`.
"""

from __future__ import annotations

from gblock.probing.callee import MISSING, attribute_of, local

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Sequence

_FRAMES = 200
_LONGEST = 200
_ENVIRONS = ("environ", "env")
_REQUESTS = ("request", "req")
_TEMPLATES = (
    ("url_rule", "rule"),  # Flask
    ("resolver_match", "route"),  # Django
    ("matched_route", "pattern"),  # Pyramid
    ("uri_template",),  # Falcon
)
"""Attributes of a request that lead to the template of its route."""
_METHODS = frozenset(("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"))


def route(frames: Sequence[types.FrameType]) -> str | None:
    """Return the route or the task that a stack serves.

    Args:
        frames: The frames of a thread, the innermost first.

    Returns:
        Method and template (`GET /orders/<id>`), the name of a Celery task, or None.
    """
    for frame in frames[:_FRAMES]:
        code = frame.f_code
        names = code.co_varnames
        if code.co_name == "trace_task" and "task" in code.co_freevars:  # Celery
            return _text(attribute_of(local(frame, "task"), "name"))
        for name in _REQUESTS:
            if name in names:
                found = _of_request(local(frame, name))
                if found is not None:
                    return found
        for name in _ENVIRONS:
            if name in names:
                found = _of_environ(local(frame, name))
                if found is not None:
                    return found
    return None


def _of_request(request: object) -> str | None:
    environ = attribute_of(request, "environ")
    method = attribute_of(request, "method")
    if type(environ) is dict:
        method = environ.get("REQUEST_METHOD")
    for path in _TEMPLATES:
        found = request
        for name in path:
            found = attribute_of(found, name)
        text = _text(found)
        if text is not None:
            return _with_method(text, method)
    return _of_environ(environ)


def _of_environ(environ: object) -> str | None:
    if type(environ) is not dict:
        return None
    method = environ.get("REQUEST_METHOD")
    for key, path in (("werkzeug.request", ("url_rule", "rule")), ("bottle.route", ("rule",))):
        found = environ.get(key, MISSING)
        for name in path:
            found = attribute_of(found, name)
        text = _text(found)
        if text is not None:
            return _with_method(text, method)
    return None


def _with_method(template: str, method: object) -> str:
    text = template if template.startswith("/") else f"/{template}"
    return f"{method} {text}" if type(method) is str and method in _METHODS else text


def _text(found: object) -> str | None:
    return found[:_LONGEST] if type(found) is str else None
