"""A process that tests and operators steer: its brokers in a thread or a process, their lives (reset, snapshots), clock, disk
faults and request log, and what commands, HTTP and Python alike can ask of it.
"""
