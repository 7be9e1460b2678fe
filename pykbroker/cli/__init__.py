"""The commands of ``pykbroker``; ``serve`` is apart from the others and part of the core.

The commands. ``serve`` is apart from the others, since each import of it costs start-up time; ``serve_options.py`` is its
command line, which ``check`` shares. ``option_values.py`` lets commands take options as dataclasses.
"""
