"""Archives topics to a lake of tables and replays them, on Spark. It works with any Kafka and needs only PySpark (the extra ``spark``).

``ledger``, ``ledger_files``, ``description``, ``requirements`` and ``errors`` do not import PySpark. So a command can report missing parts and the
archive's progress without it.

Topics to tables and back, on Spark, with any Kafka. ``archive.py`` is the streaming job, ``ledger.py`` (pure) its account of
read offsets (``ledger_files.py`` reads it without Spark), ``single_job.py`` keeps a second archive out,
``spark_artifacts.py`` removes what Spark leaves in the working directory, ``tables/`` the three table formats, each of which
commits a batch exactly once and keeps a day of its past; ``spark_versions.py`` (pure) names the packages of each Spark,
``disk_use.py`` counts what a lake takes; ``checkpoint_repair.py`` makes a torn checkpoint anew, ``lost_offsets.py`` records
what expired unread and ``extreme_timestamps.py`` keeps records whose timestamps Spark cannot hold. ``row_counts.py``
compares the rows with the ledger, ``verify.py`` with the broker; ``replay.py`` sends back, with ``replay_task.py`` in its
tasks, ``bounded_calls.py`` around calls of librdkafka that may wait for ever, and ``replay_progress.py`` (pure) as its
progress. ``values/`` decodes archived values: ``decode.py`` is the job, ``types.py`` (pure) evolves columns,
``deserializers.py`` turns bytes into objects and ``conversion.py`` objects into columns, ``tasks.py`` runs both in Spark,
``decode_progress.py`` (pure) is the progress; ``decoded_row_counts.py`` compares it with the tables, and ``rebuild.py``
begins again. ``profile/`` measures a lake in Spark and draws a page. ``direct/`` is the source that reads a broker's files:
``source_options.py`` reads options, ``log_files.py`` and ``transactions.py`` the log, ``planning.py`` plans tasks,
``stream_offsets.py`` (pure) is a stream's position; in a task ``batches.py`` checks batches and ``decoding.py`` is the hot
loop (``record_boundaries.py`` finds where records begin, ``varints.py`` decodes integers). It imports only ``wire/`` and
``storage/`` of the broker; commands import Spark (``cli/lake.py``).
"""
