"""The failures that the demo's menu offers to rehearse: known to the window, played by the rehearsal server."""

from __future__ import annotations

DRILLS: tuple[tuple[str, str, str], ...] = (
    ("overloaded", "Overloaded (529)", "服务过载 (529)"),
    ("rate-limit-7s", "Rate limit, wait 7 s", "限流，等待 7 秒"),
    ("bad-gateway", "Bad gateway (502, HTML)", "网关错误 (502)"),
    ("reset-before-headers", "Connection reset at once", "连接立即被重置"),
    ("mid-reset", "Connection reset in mid-reply", "回复中途连接被重置"),
    ("cut-eof", "Reply ends too early", "回复提前结束"),
    ("mid-overloaded", "Overloaded in mid-reply", "回复中途过载"),
    ("mid-stall", "Reply stalls", "回复停滞"),
    ("bad-json", "Broken event", "损坏的事件"),
    ("tool-bad-json", "Broken tool arguments", "损坏的工具参数"),
    ("tool-cut", "Tool arguments cut off", "工具参数被截断"),
    ("overflow", "Prompt too long", "提示词过长"),
    ("unauthorized", "Key refused (401)", "密钥被拒 (401)"),
    ("credit", "No credit left", "余额不足"),
    ("refusal", "The model refuses", "模型拒绝回答"),
    ("empty-content", "Empty reply", "空回复"),
)
"""Name for the command `drill`, title in English, title in Chinese."""
