"""`biomux serve`: the HTTP service."""

from __future__ import annotations

import os
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from biomux.cli.ui.display import note
from biomux.errors import UsageError

if TYPE_CHECKING:
    import socket

    from biomux.serve.settings import ServeSettings


def _option(name: str, help: str, metavar: str | None = None, **settings: Any) -> Any:
    """An option that is also an environment variable: --max-body is BIOMUX_SERVE_MAX_BODY."""
    variable = "BIOMUX_SERVE_" + name.partition("/")[0].lstrip("-").replace("-", "_").upper()
    return typer.Option(name, metavar=metavar, help=help, envvar=variable, **settings)


def command(
    bundle: Annotated[
        str | None,
        typer.Argument(
            metavar="BUNDLE",
            help="Folder or name of a bundle. Default: the one that comes with Biomux.",
            envvar="BIOMUX_SERVE_BUNDLE",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "--bundle", metavar="MODEL", help="Same as BUNDLE, under the name used elsewhere."),
    ] = None,
    host: Annotated[str, _option("--host", "Address to listen on.", "ADDRESS")] = "127.0.0.1",
    port: Annotated[int, _option("--port", "Port to listen on; 0 means any free one.", "N", min=0, max=65535)] = 8080,
    workers: Annotated[int, _option("--workers", "Number of worker processes behind the port.", "N", min=1)] = 1,
    threads: Annotated[
        int | None,
        _option(
            "--threads",
            "Threads per process, at most one per core. Default: the cores divided among the processes.",
            "N",
            min=1,
        ),
    ] = None,
    runtime: Annotated[
        Literal["auto", "onnxruntime", "openvino"], _option("--runtime", "Runtime to use; auto means onnxruntime.")
    ] = "auto",
    api_key_file: Annotated[
        str | None,
        _option("--api-key-file", "File with one API key per line. Every request must then have one of them.", "FILE"),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        _option("--cors-origin", "Allow pages from this origin to use the service. Repeatable. Default: none.", "URL"),
    ] = None,
    max_body: Annotated[int, _option("--max-body", "Largest body of a request.", "BYTES", min=1)] = 10_000_000,
    max_bodies: Annotated[
        int, _option("--max-bodies", "Largest size of all bodies being held at once.", "BYTES", min=1)
    ] = 100_000_000,
    max_documents: Annotated[int, _option("--max-documents", "Most documents in a request.", "N", min=1)] = 1_000,
    queue_tokens: Annotated[
        int, _option("--queue-tokens", "Most tokens that may wait; beyond that, requests get 429.", "N", min=1)
    ] = 131_072,
    batch_tokens: Annotated[
        int, _option("--batch-tokens", "Tokens, across requests, that are computed together.", "N", min=1)
    ] = 8_192,
    timeout: Annotated[
        float, _option("--timeout", "Longest time until a request is answered; then 503.", "SECONDS", min=0.01)
    ] = 60.0,
    body_timeout: Annotated[
        float, _option("--body-timeout", "Longest time for a body to arrive; then 408.", "SECONDS", min=0.01)
    ] = 20.0,
    header_timeout: Annotated[
        float, _option("--header-timeout", "Longest time for headers to arrive.", "SECONDS", min=0.01)
    ] = 20.0,
    keep_alive: Annotated[
        float, _option("--keep-alive", "How long an idle connection is kept.", "SECONDS", min=1)
    ] = 30.0,
    max_connections: Annotated[
        int, _option("--max-connections", "Most connections per process; beyond that, requests get 503.", "N", min=1)
    ] = 4_096,
    drain_timeout: Annotated[
        float, _option("--drain-timeout", "Longest time to finish requests when stopped.", "SECONDS", min=1)
    ] = 60.0,
    access_log: Annotated[bool, _option("--access-log/--no-access-log", "Log each request as a line of JSON.")] = True,
) -> None:
    """Serve a bundle over HTTP, with a page to try it in the browser.

    POST /annotate takes texts and answers as biomux annotate does, in JSON, BioC, PubTator, brat and more; / is a page for the browser, and /docs describes all addresses. Requests that arrive at the same time are computed together; each gets the answer that it would get alone.
    Label Studio can use the service as its ML backend.

    Every option is also an environment variable: --max-body is BIOMUX_SERVE_MAX_BODY. The log, one JSON object per line and without any
    text, goes to standard output. On SIGTERM or Ctrl-C the service finishes the requests that have arrived, then ends with exit code 0; SIGHUP loads the
    bundle and the keys again without losing a request.

    Examples:

        biomux serve
        biomux serve my-bundle/ --port 9000 --workers 4
        biomux serve --host 0.0.0.0 --api-key-file keys.txt
    """
    if bundle is not None and model is not None:
        raise UsageError(
            "BX001", "the bundle is named twice", hint="give BUNDLE (or BIOMUX_SERVE_BUNDLE) or --model, not both"
        )
    settings = _settings(
        bundle=bundle if model is None else model,
        host=host,
        port=port,
        workers=workers,
        threads=threads,
        runtime=runtime,
        api_key_file=api_key_file,
        cors_origins=tuple(cors_origin or ()),
        max_body=max_body,
        max_bodies=max(max_body, max_bodies),
        max_documents=max_documents,
        queue_tokens=queue_tokens,
        batch_tokens=batch_tokens,
        timeout=timeout,
        body_timeout=body_timeout,
        header_timeout=header_timeout,
        keep_alive=keep_alive,
        max_connections=max_connections,
        drain_timeout=drain_timeout,
        access_log=access_log,
    )
    from biomux.engine import load
    from biomux.engine.bundle import reader
    from biomux.serve import server
    from biomux.serve.keys import Keys
    from biomux.serve.workers import Workers

    Keys(api_key_file)
    listening = server.bind(settings)
    try:
        if not _is_loopback(host):
            warning = "anyone who reaches it can use the service" if api_key_file is None else "keys travel unencrypted"
            note(f"listening beyond this machine: {warning}; put it behind a proxy with TLS")
        if workers == 1:
            server.run(settings, listening, on_start=lambda service: _tell(listening, service.model.version))
        else:
            read_bundle = reader.read(load.find(settings.bundle))
            _tell(listening, f"{read_bundle.folder.resolve().name}, {workers} workers")
            Workers(settings, listening).run()
    finally:
        listening.close()


def _settings(**fields: Any) -> ServeSettings:
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(
            "BX003",
            f"serving needs the package {error.name!r}, which is not installed",
            hint="pip install 'biomux[serve]'",
        ) from None
    from biomux.engine.threads import usable_cores
    from biomux.serve.settings import ServeSettings

    if fields["workers"] > 1:
        if os.name == "nt":
            raise UsageError(
                "BX001", "cannot use --workers on Windows: worker processes share one port by inheriting it"
            )
        fields["threads"] = fields["threads"] or max(1, usable_cores() // fields["workers"])
    return ServeSettings(**fields)


def _tell(listening: socket.socket, served: str) -> None:
    host, port = listening.getsockname()[:2]
    note(f"serving {served} at http://{f'[{host}]' if ':' in host else host}:{port}/ (stop with Ctrl-C)")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
