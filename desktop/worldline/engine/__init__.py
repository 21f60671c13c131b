"""The session actor: one per open session; composes the layers below and serves the protocol."""
