"""JSON lines as they are found in the wild: torn, glued, padded with NUL. Nothing is fatal, everything is counted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from worldline.session.importers.packed import BROKEN, open_source


def _number(text: str) -> float | str:
    """JSON knows no infinity: a number beyond all bounds stays what was written."""
    value = float(text)
    return value if math.isfinite(value) else text


_DECODER = json.JSONDecoder(strict=False, parse_constant=str, parse_float=_number)
_DEEPEST = 200
"""Levels of a record. Beyond, whatever handles it later (JSON, the API) would run out of stack."""
_BOM = b"\xef\xbb\xbf"
_LONGEST_LINE = 512 << 20
"""Bytes. No agent writes such a line; a file without any line end must not fill the memory."""
_MOST_ATTEMPTS = 2000
"""Places of one damaged line at which a whole record is looked for."""


@dataclass(slots=True)
class SourceRecord:
    """One JSON object of a source file and where it stands there."""

    line: int
    """Counts from 1."""
    offset: int
    """Bytes from the start of the file to the start of the line."""
    length: int
    """Bytes of the line."""
    value: dict[str, Any]
    recovered: bool = False
    """Came out of a damaged line."""
    order: int = 0
    """Running number over all files that make up the session."""
    file: str = ""
    """Name of the file beside the session that it came from; "" = the session's own."""

    @property
    def place(self) -> dict[str, Any]:
        """Where it came from, as nodes keep it."""
        found: dict[str, Any] = {"line": self.line, "offset": self.offset, "length": self.length}
        return found | {"file": self.file} if self.file else found


@dataclass(slots=True)
class Gap:
    """A place where something was lost, or could not be joined to the rest."""

    line: int
    offset: int
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {"line": self.line, "offset": self.offset, "reason": self.reason}


@dataclass(slots=True)
class LineReport:
    """What reading a file came to."""

    records: int = 0
    recovered: int = 0
    gaps: list[Gap] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    undecodable: int = 0
    """Lines with bytes that are not UTF-8 (shown with replacement characters)."""


def read_records(path: Path, report: LineReport) -> Iterator[SourceRecord]:
    """The JSON objects of a file, one line in memory at a time.

    Lines end at `\\n` alone: U+2028 and U+0085 occur inside strings. A line that is no object is searched for whole
    objects (two writers without a newline between them, a record written twice); what is left over is a gap. A last
    line without its newline is taken if it is whole, else it is a torn tail.
    """
    offset = 0
    with open_source(path) as file:
        for number, (raw, length) in enumerate(_raw_lines(file, report), start=1):
            start, offset = offset, offset + length
            if length > len(raw):
                report.gaps.append(Gap(number, start, f"a line of {length} bytes, too long for a record"))
                continue
            complete = raw.endswith(b"\n")
            body = raw.removesuffix(b"\n").removesuffix(b"\r")
            if number == 1:
                body = body.removeprefix(_BOM)
            yield from _records_of_line(number, start, body, complete, report)


def _raw_lines(file: IO[bytes], report: LineReport) -> Iterator[tuple[bytes, int]]:
    """Each line and its length; of a line that is longer than any record only the length counts."""
    number = offset = 0
    try:
        while raw := file.readline(_LONGEST_LINE):
            length = len(raw)
            if length == _LONGEST_LINE and not raw.endswith(b"\n"):
                while more := file.readline(1 << 20):
                    length += len(more)
                    if more.endswith(b"\n"):
                        break
            number, offset = number + 1, offset + length
            yield raw, length
    except BROKEN as error:
        report.gaps.append(Gap(number + 1, offset, f"the rest cannot be unpacked: {error}"))


def _records_of_line(
    number: int, start: int, body: bytes, complete: bool, report: LineReport
) -> Iterator[SourceRecord]:
    stripped = body.strip(b"\0 \t\r")
    if not stripped:
        if body.strip(b" \t\r"):
            report.gaps.append(Gap(number, start, f"{len(body)} NUL bytes"))
        return
    damaged = len(stripped) != len(body.strip(b" \t\r"))
    try:
        text = stripped.decode("utf-8")
    except UnicodeDecodeError:
        text = stripped.decode("utf-8", "replace")
        report.undecodable += 1
    if "\0" in text:
        text, damaged = text.replace("\0", ""), True
    value = _whole_object(text)
    if value is not None:
        report.records += 1
        if damaged:
            report.recovered += 1
            report.gaps.append(Gap(number, start, "NUL bytes around a record"))
        yield SourceRecord(number, start, len(body), value, damaged)
        return
    found, lost = _salvage(text)
    for item in found:
        report.records += 1
        report.recovered += 1
        yield SourceRecord(number, start, len(body), item, True)
    if lost or not found:
        torn = not complete and not found
        reason = "torn tail: the file ends inside a record, it may still be written" if torn else (
            "part of a record beside whole ones" if found else "not a JSON object"
        )  # fmt: skip
        report.gaps.append(Gap(number, start, reason))
    elif len(found) > 1:
        report.warnings.append(f"line {number}: {len(found)} records on one line")


def parse(text: str) -> Any:
    """JSON that can be stored as JSON again. Raises ValueError for anything else."""
    try:
        value = _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if isinstance(value, dict | list) and not _is_shallow(value, text):
        raise ValueError("it is nested too deeply")
    return value


def _whole_object(text: str) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return _worded(value) if isinstance(value, dict) and _is_shallow(value, text) else None


def _worded(record: dict[str, Any]) -> dict[str, Any]:
    """What says how to read a record is a word; where it is anything else, its text is (and no reader knows it)."""
    for holder in (record, record.get("payload"), record.get("message"), record.get("attachment")):
        if isinstance(holder, dict):
            for key in ("type", "subtype", "role"):
                if holder.get(key) is not None and not isinstance(holder[key], str):
                    holder[key] = json.dumps(holder[key])
    return record


def _is_shallow(value: Any, text: str) -> bool:
    if text.count("[") + text.count("{") <= _DEEPEST:
        return True
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return True
    return False


def _salvage(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Whole objects on a damaged line, and whether something else was there as well."""
    found: list[dict[str, Any]] = []
    lost = False
    position = attempts = 0
    while position < len(text):
        if text[position] != "{":
            lost = lost or not text[position].isspace()
            nxt = text.find("{", position)
            if nxt < 0:
                break
            position = nxt
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            # Inside a torn record nested objects may parse; only what looks like a record of its own counts.
            lost = True
            position += 1
            attempts += 1
            nxt = text.find('{"', position)
            # Each attempt may read to the end of the line: unbounded, a long torn line would take for ever.
            if nxt < 0 or attempts >= _MOST_ATTEMPTS:
                break
            position = nxt
            continue
        if isinstance(value, dict) and _is_record(value) and _is_shallow(value, text):
            found.append(_worded(value))
        else:
            lost = True
        position = end
        while position < len(text) and text[position].isspace():
            position += 1
    return found, lost


def _is_record(value: dict[str, Any]) -> bool:
    """Tells a record from a nested object (a content block also has a type, but neither id, uuid nor time)."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if isinstance(value.get("payload"), dict) or isinstance(value.get("message"), dict):
        return True
    named = ("timestamp", "uuid", "parentUuid", "parentId", "sessionId", "leafUuid", "cwd")
    return any(name in value for name in named)
