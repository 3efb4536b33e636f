"""What is wrong with a command line, in our words: typer leaves it to pydantic, which knows no options."""

from __future__ import annotations

import re
from typing import Any

from biomux.errors import UsageError, nearest


def usage_error(error: Exception) -> UsageError:
    """What typer refuses, as one sentence that names the option or argument."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "biomux"
    message, _, meant = _message(error).partition(". Did you mean ")
    if (options := getattr(error, "possibilities", None)) and (option := getattr(error, "option_name", None)):
        message, meant = f"no such option: {option}", f"{nearest(option, options) or options[0]}?"
    hint = f"did you mean {meant} see '{path} --help'" if meant else f"see '{path} --help'"
    return UsageError("BX001", message, hint=hint)


def _message(error: Any) -> str:
    if missing := _missing(error):
        return missing
    message: str = error.format_message().strip().rstrip(".")
    if extra := re.fullmatch(r"Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)", message):
        names = extra[1].split()
        return f"unexpected argument{'s' if len(names) > 1 else ''}: {' '.join(names)}"
    if type(error).__name__ == "BadParameter" and getattr(error, "param", None) is not None:
        return f"{_name(error)}{_reason(error)}"
    return message[:1].lower() + message[1:]


def _reason(error: Any) -> str:
    """What a value must be, or else typer's own words after a colon."""
    problems: list[Any] = getattr(error.__cause__, "errors", list)()
    if problems:
        from biomux.validation import demand  # here: only an error needs it

        if demanded := demand(problems[0]):
            return f" {demanded}"
    message = error.message.strip().rstrip(".").removeprefix("Value error, ")
    if choice := re.fullmatch(r"(.*) is not one of (.*)", message, re.DOTALL):
        return f" must be {' or '.join(choice[2].rsplit(', ', 1))}, got {choice[1]}"
    return f": {message[:1].lower()}{message[1:]}"


def _name(error: Any) -> str:
    """The option, argument or environment variable that has the wrong value."""
    param, context = error.param, error.ctx
    source = getattr(context.get_parameter_source(param.name), "name", "") if context else ""
    if source == "ENVIRONMENT" and isinstance(param.envvar, str):
        return str(param.envvar)
    if param.param_type_name == "argument":
        return _shown(param)
    option: str = max(param.opts, key=len)
    return option


def _shown(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _missing(error: Any) -> str | None:
    """What to say if one of several arguments is missing: typer names the first, which may well have been given."""
    command = getattr(getattr(error, "ctx", None), "command", None)
    if type(error).__name__ != "MissingParameter":
        return None
    if command is None or getattr(getattr(error, "param", None), "param_type_name", None) != "argument":
        return None
    required = [
        _shown(parameter)
        for parameter in command.params
        if parameter.param_type_name == "argument" and parameter.required
    ]
    names = " ".join(required).replace("...", "").split()
    return f"missing arguments: {' and '.join(names)} are required" if len(names) > 1 else None
