"""The broker in a container image that can replace Apache Kafka's and Confluent's.

It supports their environment variables, the paths and programs that compose files and Testcontainers' modules call, and
the log lines that they wait for. ``run`` is the container's first process; ``tools`` are Kafka's commands by their
names. The scripts at Kafka's paths (``scripts/image/`` of the repository) call only these; programs in the places of others
(`nc`, `cub`) are there, too.

The broker in a container image: ``environment.py`` and ``derived.py`` turn environment variables into settings,
``server_properties.py`` composes the file, ``jaas_file.py`` reads what ``KAFKA_OPTS`` names, ``data_directory.py`` chooses
the log directory by what is mounted, and ``writable_files.py`` where a read-only root can be written. ``run.py`` is the
container's first process, ``command.py`` runs ``pykbroker`` there, ``health.py`` is the check of health. ``tools/`` are
Kafka's commands under their own names, on ``client/``. ``scripts/image/`` has the scripts at Kafka's paths and builds the
image's files.
"""
