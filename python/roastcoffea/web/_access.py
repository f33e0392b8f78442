"""Who may look: the token, the names of this server, and what a page may load."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

__all__ = ["HEADERS", "Access", "policy_of"]

# Of every answer.
HEADERS = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
    "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
}

_LOCAL = ("localhost", "localhost.localdomain")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class Access:
    """A token that every request must have, and the names under which a browser may ask."""

    def __init__(self, token: str | None = None, hosts: Iterable[str] = ()) -> None:
        self.token = token or secrets.token_hex(24)
        # A browser that was led here by a foreign name (DNS rebinding) sends that name. An address cannot be rebound.
        self._hosts = {host.lower() for host in (*_LOCAL, socket.gethostname(), socket.getfqdn(), *hosts)}

    @property
    def cookie(self) -> str:
        """What a browser keeps after it has shown the token once."""
        return hashlib.sha256(f"board:{self.token}".encode()).hexdigest()

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def is_cookie(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.cookie.encode())

    def knows_host(self, header: str) -> bool:
        """Whether a Host header names this server."""
        try:
            found = urlsplit(f"//{header}")
            host, _ = found.hostname or "", found.port  # which raises, too
        except ValueError:
            return False
        return host in self._hosts or _is_address(host)

    @staticmethod
    def same_origin(origin: str | None, host: str, site: str | None, mode: str | None) -> bool:
        """Whether a request comes from a page of this server, or from the address bar."""
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return False
        return site in (None, "same-origin", "none") or mode == "navigate"


def policy_of(inline: Iterable[str] = ()) -> str:
    """The Content-Security-Policy of a page: scripts of this server, and these inside of the page by their hashes. No other
    script runs, however it came into the page."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inline)
    scripts = " ".join(["'self'", *(f"'sha256-{one}'" for one in hashes)])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
