"""The HTTP side of a running broker: whether it is well, its metrics, and what tests and operators ask of it.

Off unless asked for, and imported only then (the extra ``http``). It reads the state that is there when somebody asks, so a
broker without it counts nothing for it.
"""
