# docker build -t pykbroker . && docker run -p 9092:9092 -v pykbroker:/var/lib/pykbroker pykbroker
#
# The image has Python, the few programs that start scripts call, what the broker needs and the broker: a layer each, in the order in
# which they change. It has no package manager: scripts/image/root.py takes single files of the builder's system.
# The base is named by its tag, so that a build has Debian's and Python's latest security updates; a digest would keep them out until
# somebody changes it. For a build that can be repeated byte by byte put python@sha256:DIGEST here.
FROM python:3.12-slim AS system
# Of what is needed one package comes as C alone.
RUN { command -v strip && command -v gcc; } > /dev/null || { apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev; }
COPY scripts/image/root.py /build/
RUN python /build/root.py system /layers/system \
    && find /layers/system/usr -name "*.so*" -type f -exec strip --strip-debug {} +

FROM system AS needed
WORKDIR /build
# Made anew when the list changes, and not with every change of a source. The list says how it is made.
COPY scripts/image/requirements.txt ./
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --no-compile --prefix=/layers/needed/usr/local --require-hashes --requirement requirements.txt \
    && python root.py trim /layers/needed \
    && find /layers/needed -name "*.so" -exec strip --strip-debug {} + \
    && python root.py compile /layers/needed

FROM needed AS package
COPY pyproject.toml setup.py README.md LICENSE ./
COPY wire wire
COPY pykbroker pykbroker
COPY scripts/image image
RUN --mount=type=cache,target=/root/.cache/pip pip install --no-compile --no-deps --prefix=/layers/package/usr/local . \
    && python root.py compile /layers/package \
    && python root.py scripts image /layers/package

FROM scratch
COPY --from=system /layers/system /
COPY --from=needed /layers/needed /
COPY --from=package /layers/package /
ENV PATH=/usr/local/bin:/usr/bin:/opt/kafka/bin LANG=C.UTF-8 HOME=/home/appuser
# Any user may run it (`docker run --user 12345`): its folders are everybody's, as /tmp is. By number, since Kubernetes'
# runAsNonRoot cannot look a name up.
USER 1000:1000
WORKDIR /home/appuser
# No other folder: an engine makes a volume of each for every container, and where one is mounted it has been asked for.
VOLUME ["/var/lib/pykbroker"]
EXPOSE 9092 8080 8081
STOPSIGNAL SIGTERM
# Asked every second until it is well, which `docker compose up --wait` waits for, then every ten.
HEALTHCHECK --interval=10s --timeout=15s --start-period=60s --start-interval=1s CMD ["python", "-P", "-m", "pykbroker.container", "health"]
ENTRYPOINT ["entry"]
CMD ["/etc/kafka/docker/run"]
