"""What clients and brokers said to each other: written down request by request, and played against a broker again."""
