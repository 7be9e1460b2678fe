"""The HTTP side of a running broker: health, metrics, an interface for tests, and a console.

Off unless asked for, and imported only then (the extra ``http``). It reads the state that is there when somebody asks, so a
broker without it counts nothing for it.
"""
