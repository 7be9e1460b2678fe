"""``pykbroker lake``: archive, verify, replay and the direct source, on Spark, over each form of table."""
