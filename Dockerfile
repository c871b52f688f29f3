# One image; the command chooses serve, worker or migrate. Runs as an ordinary user.
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY requirements/tools.txt requirements/runtime.txt requirements/
# The ordinary user can write no bytecode here: every start would compile what it imports, the processes of parsers too.
RUN python -m venv /opt/fourfold \
 && /opt/fourfold/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements/tools.txt \
 && /opt/fourfold/bin/uv pip install --no-cache --compile-bytecode --python /opt/fourfold/bin/python --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md ./
COPY app app
COPY migrations migrations
RUN /opt/fourfold/bin/uv pip install --no-cache --compile-bytecode --python /opt/fourfold/bin/python --no-deps --no-build-isolation .

FROM python:3.13-slim-bookworm
# git lists the files of a work tree and says which revision it has.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git=1:2.39.* openssh-client=1:9.2* \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --create-home --uid 10001 fourfold \
 && mkdir --mode=0700 /var/lib/fourfold \
 && chown fourfold /var/lib/fourfold
COPY --from=build /opt/fourfold /opt/fourfold
ENV PATH=/opt/fourfold/bin:$PATH FOURFOLD_HOST=0.0.0.0 FOURFOLD_LOG_FORMAT=json FOURFOLD_STATE_DIR=/var/lib/fourfold
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
ENTRYPOINT ["fourfold"]
CMD ["serve", "--no-worker"]
