"""Messages that the person sent while something was running: durable, each one delivered, edited or taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from worldline.agent.deps import Delivery
from worldline.core.errors import BadInput
from worldline.engine.shared import Shared
from worldline.protocol.commands import Prompt, QueueEdit
from worldline.protocol.events import QueueChanged


@dataclass(slots=True)
class Queued:
    id: int
    text: str
    when: str
    images: list[dict[str, Any]] = field(default_factory=list)
    prompt: dict[str, Any] = field(default_factory=dict)
    """The whole command, for a message that becomes a run of its own."""


class Queue:
    """In the order they were sent. What was queued and not delivered is in the queue again after a restart."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self.items: list[Queued] = []
        self._taken: dict[int, Queued] = {}
        """Handed to a run, not in the session yet."""

    def restore(self) -> None:
        done = {r.data.get("id") for r in self._shared.doc.records("queue_done")}
        edits = {r.data["id"]: r.data["text"] for r in self._shared.doc.records("queue") if "id" in r.data}
        self.items = [
            Queued(r.seq, edits.get(r.seq, r.data["prompt"]["text"]), r.data["prompt"]["when"],
                   image_blocks(r.data["prompt"]), r.data["prompt"])
            for r in self._shared.doc.records("queue")
            if "prompt" in r.data and r.seq not in done
        ]  # fmt: skip
        self.announce()

    def add(self, prompt: Prompt) -> int:
        data = prompt.model_dump(mode="json")
        record = self._shared.doc.add_record("queue", {"prompt": data})
        self.items.append(Queued(record.seq, prompt.text, prompt.when, image_blocks(data), data))
        self.announce()
        return record.seq

    def find(self, number: int) -> Queued:
        """Raises BadInput when it is not there any more."""
        item = next((i for i in self.items if i.id == number), None)
        if item is None:
            raise BadInput("This message is not in the queue any more.", "It was delivered or taken out.")
        return item

    def edit(self, change: QueueEdit) -> None:
        item = self.find(change.id)
        if change.text is None:
            self._done(item.id, "taken out")
            self.items.remove(item)
        else:
            self._shared.doc.add_record("queue", {"id": item.id, "text": change.text})
            item.text = change.text
        self.announce()

    def take_for_step(self) -> list[Delivery]:
        """Messages for the next step of the run that is going on."""
        now = [i for i in self.items if i.when == "next_step"]
        if not now:
            return []
        self.items = [i for i in self.items if i.when != "next_step"]
        self._taken.update({i.id: i for i in now})
        return [Delivery(i.id, i.text, i.images) for i in now]

    def delivered(self, message: Delivery, node: str) -> Callable[[], None]:
        """See `RunDeps.delivered`. Until it is durable it counts as taken: it waits again when nothing comes of it."""
        self._done(message.id, "delivered", node)

        def durable() -> None:
            self._taken.pop(message.id, None)
            self.announce()

        return durable

    def take_back(self) -> None:
        """A run ended before it stored what it had taken: it waits again, in front."""
        if self._taken:
            self.items = [*self._taken.values(), *self.items]
            self._taken.clear()
            self.announce()

    def put_front(self, item: Queued) -> None:
        self.items.insert(0, item)
        self.announce()

    def started(self, item: Queued, node: str) -> None:
        self._done(item.id, "started", node)

    def announce(self) -> None:
        items = [{"id": i.id, "text": i.text, "when": i.when} for i in self.items]
        self._shared.emit("queue_changed", QueueChanged(items=items))
        self._shared.status.set(queued=len(items))

    def _done(self, item: int, how: str, node: str = "") -> None:
        self._shared.doc.add_record("queue_done", {"id": item, "how": how}, node=node)


def image_blocks(prompt: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": image["media_type"], "data": image["data"]},
        }
        for image in prompt.get("images", [])
    ]
