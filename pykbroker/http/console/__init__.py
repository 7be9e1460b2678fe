"""The console: a page that shows what is in the brokers, and the interface that it asks.

``page/`` is what a browser is given, as it lies there. What the page asks is answered by requests of Kafka's protocol that
the brokers of this process handle as any client's (``asking.py``), a bounded piece of work each, with clients in between.
Nothing of it is loaded before somebody looks.
"""
