"""JSON-RPC 2.0, one message a line, over the engine's standard streams.

A line is UTF-8 JSON without line breaks. The window sends requests, the engine answers each exactly once and sends
notifications in between. Error codes below -32000 are JSON-RPC's own; ours are in `RpcErrorCode`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

PROTOCOL_VERSION = 1
MAX_LINE = 64 * 1024 * 1024
"""Bytes. A longer line is a defect of the other side; the connection is closed."""


class RpcErrorCode(IntEnum):
    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    REFUSED = 1
    """A `WorldlineError`: `data` holds {"kind", "hint"}."""
    SHUTTING_DOWN = 3


class RpcError(BaseModel):
    code: int
    message: str
    data: dict[str, Any] | None = None


class Request(BaseModel):
    jsonrpc: Literal["2.0"] = "2.0"
    id: int
    method: str
    params: dict[str, Any] = {}


class Response(BaseModel):
    jsonrpc: Literal["2.0"] = "2.0"
    id: int | None
    result: Any = None
    error: RpcError | None = None


class Message(BaseModel):
    """Base of everything that crosses: unknown fields of a newer version are ignored, not refused."""

    model_config = ConfigDict(extra="ignore")


class Nothing(Message):
    """Parameters of a command that takes none, or the result of one that only does something."""
