"""The examples of a container and of a systemd unit: an ordinary user, nothing to write, options that exist. Neither is started here."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

from biomux import cli

DEPLOY = Path(__file__).parents[2] / "deploy"
pytestmark = pytest.mark.skipif(not DEPLOY.is_dir(), reason="needs the source tree, not the installed package")


def variables() -> set[str]:
    return {param.envvar for param in cli.load("serve").params if param.envvar}


def test_the_container_runs_as_an_ordinary_user_and_names_options_that_exist() -> None:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^USER [1-9]\d*$", text, re.MULTILINE)
    assert "--read-only" in text
    assert set(re.findall(r"BIOMUX_SERVE_\w+", text)) <= variables()
    assert text.rstrip().endswith('ENTRYPOINT ["biomux", "serve"]')
    for name in re.findall(r"^COPY ((?!--)[\w./ -]+) \./", text, re.MULTILINE):
        assert all((DEPLOY.parent / one).exists() for one in name.split())


def test_the_unit_may_write_nothing_and_reloads_by_sighup() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "biomux.service", encoding="utf-8")
    service = unit["Service"]
    assert (service["DynamicUser"], service["ProtectSystem"], service["NoNewPrivileges"]) == ("yes", "strict", "yes")
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert set(re.findall(r"BIOMUX_SERVE_\w+", service["Environment"])) <= variables()


def test_every_option_has_a_variable() -> None:
    params = cli.load("serve").params
    assert all(
        param.envvar for param in params if param.name not in ("help", "model")
    )  # --model is BUNDLE, which has one
