"""Settings of a connection to a server, as data, whose secrets are never shown.

A text that is given for a password or another secret becomes a :class:`~headrace.io.Secret`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Self, TypeAlias

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.io.secret import SHOWN_SECRET, Secret, resolved

SettingValue: TypeAlias = str | int | float | bool | Secret | Callable[..., Any]
"""A value of a setting; functions are for callbacks, such as ``oauth_cb``."""

_SECRET: Final = re.compile(
    r"password|secret|credential|passphrase|private|jaas|user\.info|\.pem$|token$"
    r"|oauthbearer\.config$|key\.string$"
)
"""Matches the names of settings whose values are secrets."""


def is_secret(name: str) -> bool:
    """Return whether the value of a setting is a secret.

    >>> is_secret("sasl.password"), is_secret("ssl.key.pem"), is_secret("bootstrap.servers")
    (True, True, False)
    """
    return _SECRET.search(name) is not None


@attrs.frozen(repr=False)
class ConnectionSettings:
    """Settings by name; :meth:`of` hides their secrets.

    Attributes:
        settings: names and values, secrets as :class:`~headrace.io.Secret`.

    >>> ConnectionSettings.of({"timeout": 5, "basic.auth.user.info": "quay:hunter2"}, "config")
    ConnectionSettings({'timeout': '5', 'basic.auth.user.info': '***'})
    """

    settings: tuple[tuple[str, SettingValue], ...] = ()

    @classmethod
    def of(cls, config: Mapping[str, Any], argument: str) -> Self:
        """Check the types of settings, and hide their secrets.

        Args:
            config: the settings.
            argument: name of the argument that they are given for, for errors.

        Raises:
            PipelineError: they are no settings.
        """
        if not isinstance(config, Mapping):
            raise PipelineError(
                f"{argument} is {shorten(type(config).__name__)}, not a dict of settings",
                remedy="use a dict with the names and values of settings",
            )
        return cls(tuple((name, _hidden(name, value)) for name, value in config.items()))

    @property
    def shown(self) -> dict[str, str]:
        """The settings as text, for reports, with ``***`` for each secret.

        >>> ConnectionSettings.of({"url": "h:1", "ssl.key.password": "hunter2"}, "config").shown
        {'url': 'h:1', 'ssl.key.password': '***'}
        """
        return {
            name: SHOWN_SECRET if isinstance(value, Secret) else str(value)
            for name, value in self.settings
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown})"

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting, a secret as :class:`~headrace.io.Secret`."""
        return dict(self.settings).get(name, default)

    def resolved(self) -> dict[str, Any]:
        """Return the settings with their secrets, for the client; only in the process that connects.

        Raises:
            PipelineError: a secret is not there.
        """
        return resolved(dict(self.settings))

    def scrubbed(self, text: str) -> str:
        """Return a text of the client without the secrets of these settings."""
        for _, value in self.settings:
            if isinstance(value, Secret):
                with suppress(PipelineError):  # then the client did not get it either
                    text = text.replace(value.resolve() or SHOWN_SECRET, SHOWN_SECRET)
        return text


def _hidden(name: str, value: Any) -> SettingValue:
    """Return a value, as a secret if its setting is one."""
    if is_secret(name) and isinstance(value, str):
        return Secret.given(value)
    if isinstance(value, (str, int, float, Secret)) or callable(value):
        found: SettingValue = value
        return found
    raise PipelineError(
        f"the setting {name} is a {type(value).__name__}",
        remedy="use a text, a number, a truth value, a function or hr.io.Secret",
    )
