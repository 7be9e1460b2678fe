"""Quotas (KIP-13, KIP-124, KIP-546, KIP-599): what clients may use, measured, and how long who uses more has to wait."""
