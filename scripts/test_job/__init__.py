"""What scripts/test runs: the checks of lint and types, and the tests in lanes side by side."""
