"""What may be done: rules, approvals, sandbox, the ledger of effects."""
