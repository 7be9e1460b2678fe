"""Error answers for any API, built from the shapes of its messages.

Error answers for any API: ``shapes.py`` finds the error fields of the message classes, ``answers.py`` fills them in.
"""
