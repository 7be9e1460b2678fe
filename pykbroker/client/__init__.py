"""A client of any Kafka cluster over blocking sockets: connections, members of groups, and views of the cluster's state.

Used by the commands, by Kafka's commands in the image and by recorded sessions. The broker does not know it.
"""
