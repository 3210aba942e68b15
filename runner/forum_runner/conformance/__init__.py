"""Answers of `forum` as the program under test, one module for each role. conformance/PROTOCOL.md has the messages."""

from forum_runner.conformance.protocol import answer
from forum_runner.conformance.suite_request import ROLES, MalformedRequestError, SuiteRequest, read_request

__all__ = ["ROLES", "MalformedRequestError", "SuiteRequest", "answer", "read_request"]
