"""What scripts/test runs: the checks of lint and types, and the tests in parts, several at a time."""
