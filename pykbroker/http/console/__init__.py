"""The console: a page that shows what is in the brokers, and its backend.

``page/`` has the files for the browser. The backend answers by Kafka requests, which the brokers of this process handle
like any client's (``in_process_client.py``), in bounded pieces with clients served in between. Imported with its first request.
"""
