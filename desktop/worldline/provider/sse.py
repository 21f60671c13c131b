"""Server-sent events out of bytes, as they arrive."""

from __future__ import annotations

MAX_EVENT_BYTES = 64 * 1024 * 1024


class EventTooLarge(ValueError):
    """One event of the stream is larger than is kept in memory."""


class SseDecoder:
    """Feed it bytes in any pieces; it hands out `(event name or None, data)`.

    Lines end with LF, CR LF or CR, and with nothing else: U+2028 inside JSON is text. Raises UnicodeDecodeError for
    bytes that are no UTF-8 and EventTooLarge for an event without end.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._name: str | None = None
        self._data: list[str] = []
        self._size = 0
        self._first = True

    def feed(self, chunk: bytes) -> list[tuple[str | None, str]]:
        buffer = self._rest + chunk
        if len(buffer) > MAX_EVENT_BYTES or self._size > MAX_EVENT_BYTES:
            raise EventTooLarge("an event is larger than 64 MB")
        # A CR at the very end may be the first half of CR LF: wait for what follows.
        held = b""
        if buffer.endswith(b"\r"):
            buffer, held = buffer[:-1], b"\r"
        if b"\r" in buffer:
            buffer = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = buffer.split(b"\n")
        self._rest = lines.pop() + held
        found = []
        for line in lines:
            event = self._line(line)
            if event is not None:
                found.append(event)
        return found

    def flush(self) -> list[tuple[str | None, str]]:
        """At the end of the stream: an event whose closing blank line is missing. The caller must not trust it
        unless its data is whole by itself."""
        found = []
        for line in (self._rest.rstrip(b"\r"), b""):
            event = self._line(line)
            if event is not None:
                found.append(event)
        self._rest = b""
        return found

    def _line(self, raw: bytes) -> tuple[str | None, str] | None:
        line = raw.decode("utf-8")
        if self._first:
            line = line.removeprefix("\ufeff")
            self._first = False
        if not line:
            return self._dispatch()
        if line.startswith(":"):
            return None
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
            self._size += len(value)
        return None

    def _dispatch(self) -> tuple[str | None, str] | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = None, [], 0
        if not data and name is None:
            return None
        return name, "\n".join(data)
