"""What a session tells the window: the signals of `SessionState`, in one place to be read."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal


class SessionSignals(QObject):
    """Emitted in the GUI thread; dicts have the fields of `protocol`."""

    # Rows
    headers_changed = Signal(int)
    """Rows from this one on are new (0: all were loaded anew)."""
    node_ended = Signal(int)
    """The node with this `seq` has changed (outcome, counts, flags, text)."""
    loaded = Signal()
    """All rows are there for the first time, or again after a restart."""
    details_changed = Signal()
    """Words of rows that were read ahead have come; rows and their places are the same."""
    label_changed = Signal(str)
    # Where we are
    cursor_changed = Signal(str)
    selection_changed = Signal(str)
    """The node that is looked at (chat and changes follow it); "" = the cursor."""
    selected_changed = Signal(list)
    """Several nodes are chosen for Compare (uids in order of choosing)."""
    history_changed = Signal()
    # What happens
    status_changed = Signal(dict)
    info_changed = Signal(dict)
    delta_batch = Signal(list)
    """Deltas of one frame: [{"run", "turn", "block", "kind", "text", "tool"}]."""
    tool_output_batch = Signal(list)
    """[{"node", "text", "stream"}] of one frame."""
    reply_discarded = Signal(dict)
    run_started = Signal(dict)
    run_ended = Signal(dict, list)
    """RunInfo and what is offered next."""
    approval_asked = Signal(dict)
    approval_gone = Signal(str, str)
    question_asked = Signal(dict)
    question_gone = Signal(str)
    effect_changed = Signal(dict)
    countered_changed = Signal(list)
    process_changed = Signal(dict)
    diagnosed = Signal(dict)
    queue_changed = Signal(list)
    files_changed = Signal(str)
    progress = Signal(dict)
    # Going
    plan_needed = Signal(dict, dict)
    """A jump needs the person: JumpPlan, and the params of the `jump` that was asked for."""
    stayed = Signal()
    """A jump was given up: refused, or what the person was asked before was not confirmed."""
    jumped = Signal(dict)
    """JumpResult."""
    composer_text = Signal(str)
    """Text that belongs into the composer (a user prompt was clicked)."""
    compare_asked = Signal(list)
    changes_since_asked = Signal(str)
    """The changes pane is to compare with this node."""
    as_model_sees_asked = Signal(str)
    bring_home_asked = Signal(str)
    brought_home = Signal(str)
    """The person's own folder or branch has the work of a node now: what it got, in words."""
    export_asked = Signal(str)
    reveal_asked = Signal(str)
    """Show this node in the tree and the chat (without going there)."""
    settings_saved = Signal(object)
    """Names of settings that this window has just changed (frozenset)."""
    # Engine
    engine_state_changed = Signal(str)
    engine_ready = Signal()
    """The model can be asked now; until then a prompt waits."""
    refused = Signal(dict)
    """The session cannot be opened: {"message", "kind", "hint"}."""
    failed = Signal(dict)
    """A command was refused: {"message", "hint", "kind"}; the window shows it as a quiet line."""
    recovered = Signal(str)
    problems = Signal(list)
    """Sentences about settings and rules that are not used; [] = there are none (any more)."""
    hello = Signal(dict)
    writer_changed = Signal(bool)
    """Of a session open for reading: whether another process writes it still."""
