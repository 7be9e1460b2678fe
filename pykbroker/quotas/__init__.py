"""Quotas (KIP-13, KIP-124, KIP-546, KIP-599): measures what clients use, and how long to throttle those above a limit."""
