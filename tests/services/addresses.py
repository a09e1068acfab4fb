"""Where the services are, as plain data: no client library, so that any provider can build it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

Login = tuple[str, str]  # user, password


@dataclasses.dataclass(frozen=True)
class StoreAddress:
    url: str  # http://host:port
    writer: Login
    viewer: Login


@dataclasses.dataclass(frozen=True)
class Services:
    bootstrap: str  # host:port of a plain listener
    store: StoreAddress

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Services:
        """Raises KeyError naming the variable that is missing."""

        def login(name: str) -> Login:
            user, _, password = environ[name].partition(":")
            return user, password

        return cls(
            bootstrap=environ["TRAINWIRE_TEST_KAFKA"],
            store=StoreAddress(
                environ["TRAINWIRE_TEST_CLICKHOUSE"], login("TRAINWIRE_TEST_WRITER"), login("TRAINWIRE_TEST_VIEWER")
            ),
        )
