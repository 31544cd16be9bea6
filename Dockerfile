# The service and its workers, see docs/service.md.
FROM python:3.12-slim

RUN apt-get update -qq && apt-get install -qq --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip install --no-cache-dir --constraint /source/constraints.txt '/source[service,leaderboard,postgresql,plots,test]' && rm -rf /source
RUN useradd --create-home bsjax && install -d -o bsjax /data
USER bsjax
WORKDIR /data
ENV BSJAX_HOME=/data
EXPOSE 8000
CMD ["bsjax", "serve", "--host", "0.0.0.0", "--workers", "0"]
