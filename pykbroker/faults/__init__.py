"""Fault injection for users' tests. Imported with the first rule."""
