"""The controller: requests for changes of the metadata become its records, one after the other.

The controller: ``port.py`` is what brokers may ask of it, in values, each question a wait; ``controller.py`` answers in this
process, one change after the other (``commits.py``). Topics, placement, elections, reassignments, registrations, quotas,
credentials and delegation tokens become records here.
"""
