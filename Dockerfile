# docker build -t pykbroker . && docker run -p 9092:9092 -v pykbroker:/var/lib/pykbroker pykbroker
FROM python:3.12-slim
# Any user may run it (`docker run --user 12345`): the folder is everybody's, as /tmp is, and what is in it its maker's.
RUN useradd --system --home-dir /var/lib/pykbroker pykbroker \
    && install --directory --owner=pykbroker --mode=1777 /var/lib/pykbroker
WORKDIR /opt/pykbroker
# What is needed, as a layer of its own: it is made anew when pyproject.toml changes, and not with every change of a source.
COPY pyproject.toml ./
RUN python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; print(*project['dependencies'], *project['optional-dependencies']['cli'], sep='\n')" > needed.txt \
    && pip install --no-cache-dir --requirement needed.txt
COPY setup.py README.md LICENSE ./
COPY wire wire
COPY pykbroker pykbroker
RUN pip install --no-cache-dir --no-deps .
# Every command finds the log directory here, under `docker exec`, too. It is not the volume itself: what else lies in the root
# of a volume (lost+found) is no concern of a broker.
ENV PYKBROKER_DATA_DIR=/var/lib/pykbroker/data
WORKDIR /var/lib/pykbroker
USER pykbroker
VOLUME /var/lib/pykbroker
EXPOSE 9092
# Clients outside the container reach the broker under the address it advertises: say which when that is not
# localhost:9092, as in `docker run ... pykbroker serve --listen 0.0.0.0:9092 --advertise HOST:PORT`.
ENTRYPOINT ["pykbroker"]
CMD ["serve", "--listen", "0.0.0.0:9092", "--advertise", "localhost:9092"]
