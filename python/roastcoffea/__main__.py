"""``python -m roastcoffea``: commands that need Python."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from roastcoffea._core import __version__
from roastcoffea.verbs import VERBS, run_verb

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m roastcoffea", description="Shows measurements."
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    report = verbs.add_parser(
        "report",
        help="one HTML file with everything about a run",
        description="Writes one HTML file with everything about a run; any browser opens it.",
    )
    report.add_argument(
        "run", metavar="RUN", help="a measurement: the folder written by save_measurement()"
    )
    report.add_argument(
        "-o", "--output", metavar="FILE", help="output file (default: RUN.html next to RUN)"
    )
    report.add_argument("--open", action="store_true", help="open it in a browser")
    report.set_defaults(command=_report)
    board = verbs.add_parser(
        "board",
        help="a board of all measurements below a folder, in a browser",
        description="Serves the measurements below DIR to a browser, until Ctrl-C: runs as they come, one of them live, "
        "several compared, SQL. It reads what is on disk and changes nothing. Only browsers with the token "
        "from the address can see it.",
    )
    board.add_argument("folder", metavar="DIR", nargs="?", default=".", help="folder of measurements (default: this one)")
    board.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine alone)")
    board.add_argument("--port", type=int, help="port; 0: any (default: 8799, or any if that is taken)")
    board.add_argument("--base-url", default="/", metavar="PATH", help="path under which a proxy shows it")
    board.add_argument("--allow-host", action="append", default=[], metavar="NAME",
                       help="name under which a browser may ask, such as that of a proxy; may be given several times")
    board.add_argument("--open", action="store_true", help="open it in a browser")
    board.set_defaults(command=_board)
    for name, what in VERBS.items():
        verbs.add_parser(name, help=what)  # they read their arguments themselves
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 0, or 1 for a wrong argument."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words and words[0] in VERBS:
        return run_verb(words[0], words[1:])
    options = _parser().parse_args(words)
    code: int = options.command(options)
    return code


def _board(options: argparse.Namespace) -> int:
    import asyncio

    from roastcoffea.web import PORT, Link, serve

    leaving = ExitStack()

    async def run() -> None:
        from roastcoffea.web._server import allow_connections

        allow_connections()
        ready: asyncio.Future[Link] = asyncio.get_running_loop().create_future()

        def told(done: asyncio.Future[Link]) -> None:
            print(f"The board of {Path(options.folder).resolve()}, until Ctrl-C:\n\n    {done.result()}\n", flush=True)
            if options.open:
                _open(done.result().url, leaving)

        ready.add_done_callback(told)
        port = PORT if options.port is None else options.port
        await serve(options.folder, options.host, port, options.base_url, options.allow_host, ready=ready)

    try:
        with leaving:
            asyncio.run(run())
    except KeyboardInterrupt:
        print()
    except (OSError, ImportError, ValueError) as error:
        print(f"python -m roastcoffea board: {error}", file=sys.stderr)
        return 1
    return 0


def _open(url: str, leaving: ExitStack) -> None:
    """By a file that only this user can read: whoever is on the machine sees the arguments of a browser."""
    import html
    import tempfile
    import webbrowser

    file = leaving.enter_context(tempfile.NamedTemporaryFile("w", prefix="roast-board-", suffix=".html"))
    file.write(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={html.escape(url)}">')
    file.flush()
    webbrowser.open(Path(file.name).as_uri())


def _report(options: argparse.Namespace) -> int:
    from roastcoffea.report import save_report
    from roastcoffea.collector.results import open_run

    run = Path(options.run)
    output = Path(options.output) if options.output else run.with_name(f"{run.resolve().name}.html")
    try:
        saved = save_report(open_run(run), output)
    except (OSError, ValueError, ImportError) as error:
        print(f"python -m roastcoffea report: {error}", file=sys.stderr)
        return 1
    print(saved)
    if options.open:
        import webbrowser

        webbrowser.open(saved.resolve().as_uri())
    return 0


if __name__ == "__main__":
    sys.exit(main())
