"""What `forum` answers when it is itself the program under test: one module for each role.

The messages are those of conformance/PROTOCOL.md.
"""

from forum_runner.app.conformance.protocol import answer
from forum_runner.app.conformance.request import ROLES, MalformedRequestError, Request, read_request

__all__ = ["ROLES", "MalformedRequestError", "Request", "answer", "read_request"]
