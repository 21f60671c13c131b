"""The commands about settings: read with what is wrong about them, changed so that all parts follow."""

from __future__ import annotations

from worldline.core.errors import BadInput
from worldline.engine.approvals import Approvals
from worldline.engine.models import ModelDesk
from worldline.engine.settings import merge, misshapen
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.tools.hooks import parse_hooks


class SettingsDesk:
    def __init__(self, shared: Shared, models: ModelDesk, approvals: Approvals) -> None:
        self._shared = shared
        self._models = models
        self._approvals = approvals

    def problems(self) -> list[str]:
        """A sentence for each value, rule and hook that does not count as written."""
        settings = self._shared.settings
        _, hooks = parse_hooks(settings.get("hooks"))
        return list(dict.fromkeys([*settings.problems, *self._approvals.problems, *hooks]))

    def settings(self) -> c.Settings:
        settings = self._shared.settings
        return c.Settings(
            values=settings.values, problems=self.problems(), rules=settings.rules, folder=settings.folder
        )

    def change(self, p: c.SetSettings) -> c.Settings:
        """Raises BadInput for what nothing could be done with; then nothing was saved."""
        from worldline.engine.provider_settings import checked

        settings = self._shared.settings
        for sentence in misshapen(p.values).values():
            raise BadInput(f"{sentence}.", "Nothing was saved.")
        checked(merge(settings.values, p.values))
        settings.change(p.values)
        self._models.set_up()
        self._models.describe()
        self._approvals.describe()
        self._shared.status.set(mode=settings.get("mode"))
        return self.settings()
