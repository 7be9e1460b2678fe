# docker build -t pykbroker . && docker run -p 9092:9092 pykbroker
FROM python:3.12-slim
WORKDIR /opt/pykbroker
COPY pyproject.toml README.md LICENSE ./
COPY wire wire
COPY pykbroker pykbroker
RUN pip install --no-cache-dir '.[cli]' \
    && useradd --system --home-dir /var/lib/pykbroker --create-home pykbroker
USER pykbroker
VOLUME /var/lib/pykbroker
EXPOSE 9092
# Clients outside the container reach the broker under the address it advertises: override --advertise when that is not
# localhost:9092, for instance with `docker run ... pykbroker serve --listen 0.0.0.0:9092 --advertise HOST:PORT`.
ENTRYPOINT ["pykbroker"]
CMD ["serve", "--listen", "0.0.0.0:9092", "--advertise", "localhost:9092", "--data-dir", "/var/lib/pykbroker"]
