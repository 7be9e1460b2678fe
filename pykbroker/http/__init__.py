"""The HTTP side of a running broker: health, metrics, an API for tests, and a console.

Off by default, and imported only when it is on (extra ``http``). It reads state when it is asked, so a broker without
it pays nothing for it.

The HTTP side, imported only if it is on: ``side.py`` opens it, ``connection.py`` gives up clients that keep it waiting,
``guard.py`` authenticates, ``rights.py`` is the table of what each act requires of the authorizer (``principal.py`` asks
it). ``metrics/`` collects metrics in slices (``scrape.py``); ``meter.py`` fills the place MEASURE around the handlers.
``api/`` serves what can be steered to other languages: one table of routes, from which the OpenAPI description is generated.
``dashboard/`` prints a dashboard for Grafana.
``console/`` is the browser console (``page/``) with its backend: ``in_process_client.py`` sends Kafka requests to the
brokers of the process, ``search.py`` and ``tail.py`` read records in slices.
"""
