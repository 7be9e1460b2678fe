"""Faults: what a broker is told to do wrong, for the tests of those who use it. Imported when the first rule is made."""
