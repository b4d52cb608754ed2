"""A stateful stand-in for an OpenAI-compatible server on loopback, with the faults that real ones show.

``with FakeOpenAI() as server:`` serves chat completions over real HTTP. ``server.answer`` makes each message from the
request's body: text, or a mapping with ``content`` and ``tool_calls``. ``server.faults`` is a list that is used up, one
a request; ``server.fault`` stays. ``server.requests`` has every body, ``server.headers`` the headers that came with it.
Tokens are counted as one for each four characters.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

from quiet_server import QuietServer

Body = dict[str, Any]


def said(message: str, **more: Any) -> Body:
    """Return the body of an error as OpenAI writes it."""
    return {
        "error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}
    }


# Fault → status, body and headers. A body that is text is sent as it is.
ANSWERS: dict[str, tuple[int, Any, dict[str, str]]] = {
    "unauthorised": (401, said("Incorrect API key provided: sk-pl****alue.", code="invalid_api_key"), {}),
    "forbidden": (403, said("You have insufficient permissions for this operation."), {}),
    "no_credit": (402, said("Insufficient credits"), {}),
    "quota": (
        429,
        said("You exceeded your current quota", type="insufficient_quota", code="insufficient_quota"),
        {},
    ),
    "quota_text": (
        429,
        said("You exceeded your current quota, please check your plan and billing details."),
        {},
    ),
    "quota_list": (
        429,
        [
            {
                "error": {
                    "code": 429,
                    "message": "You exceeded your current quota",
                    "status": "RESOURCE_EXHAUSTED",
                }
            }
        ],
        {},
    ),
    "quota_by_minute": (
        429,
        [{"error": {"message": "You exceeded your current quota.\nPlease retry in 11.6s.", "code": 429}}],
        {},
    ),
    "quota_delay": (
        429,
        {"error": {"message": "You exceeded your current quota", "details": [{"retryDelay": "11s"}]}},
        {},
    ),
    "rate_limited_billing": (429, said("Rate limit reached. Add a payment method: /account/billing"), {}),
    "rate_limited": (429, said("Rate limit reached", code="rate_limit_exceeded"), {"Retry-After": "0"}),
    "rate_limited_long": (429, said("Rate limit reached"), {"Retry-After": "900"}),
    "model_missing": (404, said("The model `m` does not exist", code="model_not_found"), {}),
    "vllm_missing": (404, {"object": "error", "message": "The model `m` does not exist.", "code": 404}, {}),
    "gateway_missing": (400, {"error": {"message": "m is not a valid model ID", "code": 400}}, {}),
    "azure_missing": (
        404,
        said("The API deployment for this resource does not exist.", code="DeploymentNotFound"),
        {},
    ),
    "model_page": (404, "<html>The requested URL /v1/model/chat was not found</html>", {}),
    "model_path": (404, {"detail": "/models/model/v1/chat/completions: Not Found"}, {}),
    "no_route": (404, {"detail": "Not Found"}, {}),
    "no_route_text": (404, "404 page not found", {}),
    "wrong_method": (405, {"detail": "Method Not Allowed"}, {}),
    "overflow": (
        400,
        {"error": {"code": 400, "message": "request (5000 tokens)", "type": "exceed_context_size_error"}},
        {},
    ),
    "overflow_text": (400, said("This model's maximum context length is 4096 tokens."), {}),
    "overflow_vllm": (
        400,
        said("The prompt (length 9000) is longer than the maximum model length of 4096."),
        {},
    ),
    "overflow_gateway": (400, said("prompt is too long: 210000 tokens > 200000 maximum"), {}),
    "too_large": (413, "Payload Too Large", {}),
    "too_large_page": (
        413,
        "<html><title>413 Request Entity Too Large: model, context size</title></html>",
        {},
    ),
    "too_large_by_minute": (
        413,
        said("Request too large for model `m` on tokens per minute (TPM)", code="rate_limit_exceeded"),
        {},
    ),
    "too_large_for_the_account": (429, said("Request too large for m on tokens per min (TPM)"), {}),
    "old_limit": (
        400,
        said(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        {},
    ),
    "no_temperature": (
        400,
        said(
            "Unsupported value: 'temperature' does not support 0 with this model.",
            param="temperature",
            code="unsupported_value",
        ),
        {},
    ),
    "no_seed": (400, said("Unsupported parameter", param="seed", code="unsupported_parameter"), {}),
    "no_other": (400, said("Unsupported parameter", param="stop", code="unsupported_parameter"), {}),
    "bad_schema": (400, said("Invalid schema for response_format 'turn'", param="response_format"), {}),
    "no_tools": (400, said('"auto" tool choice requires --enable-auto-tool-choice to be set'), {}),
    "bad_request": (400, said("messages: something is wrong"), {}),
    "validation": (422, {"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted"}]}, {}),
    "loading": (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, {}),
    "overloaded_in_200": (200, {"error": {"message": "model overloaded", "code": "overloaded"}}, {}),
    "overloaded": (529, said("Overloaded"), {}),
    "bad_gateway": (502, "<html>bad gateway</html>", {}),
    "gateway_time_out": (504, "", {}),
    "server_error": (500, said("something broke"), {}),
    "out_of_memory": (500, said("CUDA out of memory"), {}),
    "list_error": (500, ["no", "object"], {}),
    "redirect": (307, "", {"Location": "http://127.0.0.1:9/v1/chat/completions"}),
    "error_in_200": (200, {"error": {"code": 429, "message": "Provider returned error"}}, {}),
    "error_text_in_200": (200, {"error": "upstream failed"}, {}),
    "error_in_choice": (
        200,
        {"choices": [{"error": {"code": 502, "message": "upstream"}, "message": {"content": ""}}]},
        {},
    ),
    "event_stream": (200, 'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n', {}),
    "html": (200, "<html><body>Welcome</body></html>", {"Content-Type": "text/html"}),
    "empty": (200, "", {}),
    "half_json": (200, '{"choices": [{"mess', {}),
    "not_utf8": (200, b'{"model": "\xff\xfe"}', {}),
    "deep_json": (200, "[" * 200_000, {}),
    "list_body": (200, ["no", "object"], {}),
    "no_choices": (200, {"choices": []}, {}),
    "null_choices": (200, {"choices": None}, {}),
    "no_message": (200, {"choices": [{"finish_reason": "stop"}]}, {}),
    "odd_calls": (200, {"choices": [{"message": {"tool_calls": ["x"]}}]}, {}),
    "calls_text": (200, {"choices": [{"message": {"tool_calls": "x"}}]}, {}),
    "flood": (200, "x" * 9_000_000, {}),
}
# Faults that change or withhold an otherwise good answer.
CHANGES: dict[str, Body] = {
    "length": {"finish_reason": "length"},
    "max_tokens": {"finish_reason": "MAX_TOKENS"},
    "content_filter": {"finish_reason": "content_filter"},
    "finish_error": {"finish_reason": "error"},
    "finish_abort": {"finish_reason": "abort"},
    "finish_odd": {"finish_reason": {"why": "?"}},
    "finish_window": {"finish_reason": "model_context_window_exceeded"},
    "finish_malformed": {"finish_reason": "function_call_filter: MALFORMED_FUNCTION_CALL"},
}
# What servers say where they could not read what the model wrote.
MALFORMED: dict[str, tuple[int, Any, dict[str, str]]] = {
    "groq_call": (400, said("Failed", code="tool_use_failed", failed_generation="<function=x>{"), {}),
    "groq_json": (400, said("Failed to generate JSON. Please adjust your prompt."), {}),
    "groq_tool": (400, said("Tool call validation failed: attempted to call tool 'x'"), {}),
    "llama_cpp": (
        500,
        {
            "error": {
                "code": 500,
                "message": "Failed to parse input at pos 34: <tool_call>",
                "type": "server_error",
            }
        },
        {},
    ),
    "ollama_call": (500, said("error parsing tool call: raw='{]', err=invalid character ']'"), {}),
    "gateway_call": (
        200,
        {"error": {"code": "tool_use_failed", "message": "Failed to call a function."}},
        {},
    ),
}
BEHAVIOURS = (*CHANGES, "hang", "drip", "cut", "reset", "refusal", "parts", "no_usage", "odd_usage", "cost")
FAULTS = (*ANSWERS, *MALFORMED, *BEHAVIOURS)


class FakeOpenAI:
    """The server; a context manager. Its state may be changed while it runs."""

    def __init__(self, answer: Callable[[Body], Any] = lambda _body: "{}") -> None:
        self.answer = answer
        self.fault: str | None = None
        self.faults: list[str] = []
        self.models: Any = {"data": [{"id": "m", "owned_by": "vllm"}]}
        self.models_status = 200
        self.key: str | None = None
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.released = threading.Event()
        self._server = QuietServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def next_fault(self) -> str | None:
        """Return the fault of this request."""
        return self.faults.pop(0) if self.faults else self.fault

    def chat(self, body: Body, fault: str | None) -> Body:
        """Return the completion for one request."""
        made = self.answer(body)
        message = {"role": "assistant", **(made if isinstance(made, dict) else {"content": made})}
        if fault == "refusal":
            message = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
        if fault == "parts":
            message["content"] = [{"type": "text", "text": message["content"]}, {"type": "odd"}, "odd"]
        read = sum(len(json.dumps(item)) for item in body["messages"]) // 4
        usage: Any = {"prompt_tokens": read, "completion_tokens": max(1, len(json.dumps(message)) // 4)}
        if fault == "cost":
            usage["cost"] = 0.000123
        if fault == "odd_usage":
            usage = {"prompt_tokens": -1, "completion_tokens": "many", "cost": True}
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish, **CHANGES.get(fault or "", {})}
        done = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": f"{body['model']}-2026-03-14",
            "system_fingerprint": "fp_1",
            "choices": [choice],
        }
        return done if fault == "no_usage" else {**done, "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    fake: FakeOpenAI

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.fake.paths.append(self.path)
        if self.fake.fault == "hang":
            self.fake.released.wait(30)
        elif not self.path.partition("?")[0].endswith("/models"):
            self.send(404, {"detail": "Not Found"})
        elif self.fake.models_status != 200 or self.opened():
            self.send(self.fake.models_status, self.fake.models)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.fake.paths.append(self.path)
        self.fake.requests.append(body)
        self.fake.headers.append({name.casefold(): value for name, value in self.headers.items()})
        fault = self.fake.next_fault()
        if fault in ANSWERS or fault in MALFORMED:
            self.send(*{**ANSWERS, **MALFORMED}[fault])
        elif fault == "hang":
            self.fake.released.wait(30)
        elif fault == "drip":
            self.drip()
        elif fault in {"cut", "reset"}:
            self.send(200, '{"choices"' if fault == "cut" else "", length=1_000)
            self.close_connection = True
        elif self.opened():
            self.send(200, self.fake.chat(body, fault))

    def opened(self) -> bool:
        """Answer that the key is wrong, with the key in it, as careless servers do; tell whether it is right."""
        sent = self.headers.get("Authorization")
        if self.fake.key is None or sent == f"Bearer {self.fake.key}":
            return True
        self.send(401, said(f"Bad key {sent!r}; cookies: {self.headers.get('X-Desk')!r}"))
        return False

    def drip(self) -> None:
        """Send blanks, one at a time, as gateways do to keep a connection open."""
        self.send(200, "", length=1_000_000)
        while not self.fake.released.wait(0.05):
            try:
                self.wfile.write(b" ")
            except OSError:
                return

    def send(self, status: int, body: Any, headers: Body | None = None, length: int | None = None) -> None:
        text = body if isinstance(body, str) else json.dumps(body) if not isinstance(body, bytes) else ""
        data = body if isinstance(body, bytes) else text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            time.sleep(0)  # the client had enough of it

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Keep the test output clean."""
