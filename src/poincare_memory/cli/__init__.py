"""The ``poincare-memory`` command: look at a memory, search it, edit it, convert it, check it.

Exit codes: 0; 1 after an error, told in one line on standard error, or where ``doctor`` found something; 2 after wrong
usage; 130 after Ctrl-C; 141 where the reader of the output stopped reading.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .. import __version__
from . import checking, editing, exchange, looking, serving, watching
from .terminal import PROGRAM, complain, reason, tell

FAILED = 1
USAGE = 2
INTERRUPTED = 130
NOT_READ = 141

EXIT_CODES = """exit codes: 0; 1 error, told in one line (or: doctor found something); 2 wrong usage; 130 Ctrl-C;
141 the reader of the output stopped reading"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        See the module. Wrong usage raises ``SystemExit(2)``, as :mod:`argparse` does.
    """
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:
        _complete(parser)
    arguments = argparse.Namespace(debug=False)
    with _Warnings():
        try:
            arguments = _parsed(parser, argv)
            command: Callable[[argparse.Namespace], int | None] = arguments.command
            code = command(arguments)
            _write_out()
        except KeyboardInterrupt:
            return INTERRUPTED
        except BrokenPipeError:  # the reader has seen enough
            _drop_unwritten()
            return NOT_READ
        except Exception as error:
            if arguments.debug:
                traceback.print_exc()
            else:
                complain(f"error: {reason(error)}")
            _drop_unwritten()
            return FAILED
    return code or 0


def _write_out() -> None:
    if sys.stdout is not None:  # a process may be started without
        sys.stdout.flush()


def _drop_unwritten() -> None:
    """What cannot be written now is not tried again at exit, which would complain a second time."""
    try:
        _write_out()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parsed(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Arguments, where one that may be left out also stands behind options (argparse takes it as left out there)."""
    try:
        arguments, rest = parser.parse_known_args(argv)
    except SystemExit:  # after --help
        _write_out()
        raise
    late = getattr(arguments, "may_come_late", None)
    if (
        len(rest) == 1
        and late
        and getattr(arguments, late) is None
        and (rest[0] == "-" or rest[0][:1] != "-")
    ):
        setattr(arguments, late, rest.pop())
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments


class _Warnings(logging.Handler):
    """What the library logs as a warning, in one line on standard error, while the command runs."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._logger = logging.getLogger("poincare_memory")

    def __enter__(self) -> None:
        self._logger.addHandler(self)

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        complain(f"warning: {' '.join(record.getMessage().split())}")


class _Parser(argparse.ArgumentParser):
    """Wrong usage is told in one line too, and help on any terminal."""

    def error(self, message: str) -> NoReturn:
        complain(f"error: {message} (`{self.prog} --help` shows what there is)")
        sys.exit(USAGE)

    def _print_message(self, message: str, file: Any = None) -> None:
        # Of argparse, which prints as it is told: no terminal need know an é, and there may be none.
        output = sys.stdout if file is None else file
        if message and output is not None:
            tell(message.rstrip("\n"), stream=output)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        description="Hierarchy-aware, time-aware memory on the Poincaré ball.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    # After the command too; absent there, it keeps what stood before the command.
    common = _Parser(add_help=False)
    common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="cmd", required=True, metavar="COMMAND")

    def add(
        name: str, command: Callable[[argparse.Namespace], int | None], summary: str
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary, parents=[common])
        added.set_defaults(command=command)
        return added

    for family in (looking, editing, exchange, checking, watching, serving):
        family.register(add)
    return parser


def _complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions (``pip install "poincare-memory[cli]"``)."""
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)
