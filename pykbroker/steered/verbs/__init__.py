"""What a process can be told by name, over HTTP and the control socket alike: ``table.py`` has all of it."""
