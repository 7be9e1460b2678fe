"""The HTTP side of a running broker: health, metrics, an API for tests, and a console.

Off by default, and imported only when it is on (extra ``http``). It reads state when it is asked, so a broker without
it pays nothing for it.
"""
