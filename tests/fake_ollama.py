"""A stateful stand-in for an Ollama server on loopback, with the faults that the real one shows.

``with FakeOllama() as server:`` serves the real routes over real HTTP. ``server.answer`` makes the content of each
reply from the request's body, or a mapping with ``content`` and ``tool_calls``; ``server.fault`` switches on one of
`FAULTS`, and ``server.faults`` is a list of them that is used up, one a request; ``server.requests`` has every body of
``/api/chat``. Tokens are counted as one for each four characters, and a conversation beyond ``num_ctx`` loses its
oldest messages without a word, as the real server's does; so does one beyond ``model_context``, which caps it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

from quiet_server import QuietServer

Body = dict[str, Any]

DIGEST = "sha256:" + "ab" * 32
OPTION_TYPES: dict[str, tuple[type, ...]] = {
    "num_ctx": (int,),
    "num_predict": (int,),
    "seed": (int,),
    "temperature": (int, float),
}

# Fault → status, body and headers if any. A body that is text is sent as it is.
ANSWERS: dict[str, tuple[Any, ...]] = {
    "no_tools": (400, {"error": "registry.ollama.ai/library/m does not support tools"}),
    "bad_format": (500, {"error": 'invalid format: "wat"; expected "json" or a JSON schema object'}),
    "bad_option": (500, {"error": 'option "num_ctx" must be of type integer'}),
    "server_busy": (503, {"error": "server busy, please try again. maximum pending requests exceeded"}),
    "runner_died": (500, {"error": "model runner has unexpectedly stopped, this may be due to limitations"}),
    "out_of_memory": (500, {"error": "model requires more system memory (9 GiB) than is available (2 GiB)"}),
    "server_error": (500, {"error": "something broke"}),
    "gateway": (502, "<html>bad gateway</html>"),
    "unauthorised": (401, {"error": "unauthorized"}),
    "rate_limited": (429, {"error": "too many requests"}, {"Retry-After": "900"}),
    "redirect": (307, "", {"Location": "http://127.0.0.1:9/api/chat"}),
    "usage_limit": (
        429,
        {"error": "you (ann) have reached your session usage limit, upgrade for higher limits"},
    ),
    "subscription": (402, {"error": "this model requires a subscription"}),
    "subscription_forbidden": (
        403,
        {"error": "this model requires a subscription, upgrade for access: https://x"},
    ),
    "no_route": (404, "404 page not found"),
    "model_page": (404, "<html>The requested URL /model/api/chat was not found</html>"),
    "model_path": (404, {"error": "/models/model/api/chat: not found"}),
    "malformed_call": (500, {"error": "error parsing tool call: raw='{]', err=invalid character ']'"}),
    "malformed_xml": (
        500,
        {"error": "XML syntax error on line 3: element <function> closed by </parameter>"},
    ),
    "malformed_tag": (500, {"error": "expected element type <function> but have <parameter>"}),
    "malformed_parse": (500, {"error": "failed to parse XML: XML syntax error on line 1: unexpected EOF"}),
    "streamed": (200, '{"message":{"content":"{"},"done":false}\n{"message":{"content":"}"},"done":true}\n'),
    "bad_request": (400, {"error": "missing request body"}),
    "html": (200, "<html><body>Welcome</body></html>"),
    "empty": (200, ""),
    "half_json": (200, '{"model": "m", "message": {"role": "assi'),
    "not_utf8": (200, b'{"model": "\xff\xfe"}'),
    "list_body": (200, ["no", "object"]),
    "list_error": (500, ["no", "object"]),
    "no_message": (200, {"model": "m", "done": True, "done_reason": "stop"}),
    "arguments_text": (
        200,
        {
            "model": "m",
            "done": True,
            "message": {"role": "assistant", "tool_calls": [{"function": {"name": "x", "arguments": "{}"}}]},
        },
    ),
    "deep_json": (200, "[" * 200_000),
}
# Faults that change or withhold an otherwise good answer.
BEHAVIOURS = (
    *("hang", "cut", "repetition", "no_done", "no_reason", "length", "unloaded", "called"),
    *("no_counts", "odd_counts", "thinking", "null"),
)
FAULTS = (*ANSWERS, *BEHAVIOURS)


class FakeOllama:
    """The server; a context manager. Its state may be changed while it runs."""

    def __init__(self, answer: Callable[[Body], Any] = lambda _body: "{}") -> None:
        self.answer = answer
        self.fault: str | None = None
        self.faults: list[str] = []
        self.callers = {"m:latest"}
        self.models = {"m:latest": DIGEST, "thinker:8b": "sha256:" + "cd" * 32}
        self.thinkers = {"thinker:8b"}
        self.model_context = 131_072
        self.requests: list[Body] = []
        self.released = threading.Event()
        self._server = QuietServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": self}))
        self._server.daemon_threads = True
        self.host = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def find(self, name: str) -> str | None:
        """Return the full name of an installed model."""
        return next((known for known in (name, f"{name}:latest") if known in self.models), None)

    def chat(self, body: Body) -> tuple[int, Any]:
        """Return status and body of one chat request, as the real server decides it."""
        self.requests.append(body)
        model = self.find(body["model"])
        if model is None:
            return 404, {"error": f"model '{body['model']}' not found"}
        if body.get("think") and model not in self.thinkers:
            return 400, {"error": f'"{model}" does not support thinking'}
        for name, value in body.get("options", {}).items():
            if name in OPTION_TYPES and not isinstance(value, OPTION_TYPES[name]):
                return 500, {"error": f'option "{name}" must be of type number'}
        if body.get("tools") and model not in self.callers:
            return 400, {"error": f"registry.ollama.ai/library/{model} does not support tools"}
        if not body.get("tools") and not isinstance(body.get("format"), dict):
            return 500, {"error": "invalid format"}
        made = self.answer(body)
        message = {"role": "assistant", **(made if isinstance(made, dict) else {"content": made})}
        read = self._read(body["messages"], min(body["options"]["num_ctx"], self.model_context))
        done = {
            "model": model,
            "created_at": "2026-03-14T10:30:00Z",
            "message": message,
            "done": True,
            "done_reason": "stop",
            "total_duration": 1_500_000_000,
            "prompt_eval_count": read,
            "eval_count": max(1, len(message["content"]) // 4),
        }
        return 200, self._spoilt(done)

    def _spoilt(self, done: Body) -> Body:
        message = done["message"]
        changes: dict[str, Body] = {
            "repetition": {"done": False, "done_reason": None},
            "no_done": {"done": None, "done_reason": None},
            "length": {"done_reason": "length", "message": {**message, "content": '{"action": "ref'}},
            "unloaded": {"done_reason": "unload", "message": {**message, "content": ""}},
            "no_reason": {"done_reason": None},
            "called": {"done_reason": "tool_calls"},
            "odd_counts": {"prompt_eval_count": -5, "eval_count": -1, "total_duration": -1},
            "no_counts": {"prompt_eval_count": None, "eval_count": None, "total_duration": None},
            "thinking": {"message": {**message, "thinking": "Hmm."}},
            "null": {"message": {"role": "assistant", "content": None}},
        }
        spoilt = {**done, **changes.get(self.fault or "", {})}
        return {key: value for key, value in spoilt.items() if value is not None}

    @staticmethod
    def _read(messages: list[Body], num_ctx: int) -> int:
        """Drop the oldest messages but system ones and the last until the rest fits; return its tokens."""
        sizes = [(item["role"], len(item.get("content", "")) // 4) for item in messages]
        while sum(size for _, size in sizes) > num_ctx:
            oldest = next((n for n, (role, _) in enumerate(sizes[:-1]) if role != "system"), None)
            if oldest is None:
                return num_ctx
            del sizes[oldest]
        return sum(size for _, size in sizes)


class _Handler(BaseHTTPRequestHandler):
    """Routes of the real server that the client uses."""

    fake: FakeOllama

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/api/tags":
            models = [{"name": name, "model": name, "digest": sha} for name, sha in self.fake.models.items()]
            self.send(200, {"models": models})
        else:
            self.send(*((200, {"version": "0.12.0"}) if self.path == "/api/version" else (404, "404")))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":
            self.show(body)
        else:
            self.chat(body, self.fake.faults.pop(0) if self.fake.faults else self.fake.fault)

    def chat(self, body: Body, fault: str | None) -> None:
        if fault in ANSWERS:
            self.send(*ANSWERS[fault])
        elif fault == "hang":
            self.fake.released.wait(30)
        elif fault == "cut":
            self.send(200, '{"model": "m"', length=1_000)
            self.close_connection = True
        elif body.get("stream"):
            self.stream(*self.fake.chat(body))
        else:
            self.send(*self.fake.chat(body))

    def show(self, body: Body) -> None:
        model = self.fake.find(body["model"])
        if model is None:
            self.send(404, {"error": f"model '{body['model']}' not found"})
            return
        capabilities = ["completion", *(["thinking"] if model in self.fake.thinkers else [])]
        capabilities += ["tools"] if model in self.fake.callers else []
        self.send(200, {"capabilities": capabilities, "model_info": {}, "details": {}})

    def stream(self, status: int, answer: Body) -> None:
        if status != 200:
            self.send(status, answer)
            return
        text = answer["message"]["content"]
        parts = [
            {"message": {"role": "assistant", "content": text[n : n + 8]}, "done": False}
            for n in range(0, len(text), 8)
        ]
        last = {**answer, "message": {"role": "assistant", "content": ""}}
        self.send(200, "".join(f"{json.dumps(part)}\n" for part in [*parts, last]))

    def send(self, status: int, body: Any, headers: Body | None = None, length: int | None = None) -> None:
        data = (
            body
            if isinstance(body, bytes)
            else (body if isinstance(body, str) else json.dumps(body)).encode()
        )
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Keep the test output clean."""


@contextlib.contextmanager
def raw_server(payload: bytes, *, reset: bool = False) -> Iterator[str]:
    """Serve the same raw bytes to every connection and then close it, or reset it; yield the address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(payload)
                    if reset:
                        # Linger of zero seconds: closing sends RST instead of FIN.
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
