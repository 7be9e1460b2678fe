"""Fault injection for users' tests. Imported with the first rule.

Fault injection for tests: ``fault.py`` is a rule as a value, ``errors.py`` places error codes where Kafka would (by
``refusals/``), ``step.py`` fills the place INTERCEPT while there are rules. Imported with the first rule.
"""
