"""The size bench: the same requests to a broker with a small log and to one with a large log of the same form."""
