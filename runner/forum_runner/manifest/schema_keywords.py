"""The JSON Schema 2020-12 keywords that users' schemas can contain, grouped by the subschemas in their values."""

from collections.abc import Iterator
from typing import Any

from forum_runner.document import Path

ONE_SCHEMA = frozenset(
    "additionalProperties contains contentSchema else if items not propertyNames then "
    "unevaluatedItems unevaluatedProperties".split()
)
LIST_OF_SCHEMAS = frozenset("allOf anyOf oneOf prefixItems".split())
MAP_OF_SCHEMAS = frozenset("$defs dependentSchemas patternProperties properties".split())
KEYWORDS = (
    ONE_SCHEMA
    | LIST_OF_SCHEMAS
    | MAP_OF_SCHEMAS
    | frozenset(
        "$comment $ref $schema const contentEncoding contentMediaType default dependentRequired deprecated description "
        "enum examples exclusiveMaximum exclusiveMinimum format maxContains maxItems maxLength maxProperties maximum "
        "minContains minItems minLength minProperties minimum multipleOf pattern readOnly required title type "
        "uniqueItems writeOnly".split()
    )
)
# These keywords give a schema a second address, refer to such an address, or choose a set of keywords.
UNSUPPORTED_KEYWORDS = frozenset("$anchor $dynamicAnchor $dynamicRef $id $vocabulary".split())
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def subschemas(schema: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The schema and its subschemas, each with its path."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for keyword, value in schema.items():
        if keyword in ONE_SCHEMA:
            yield from subschemas(value, (*path, keyword))
        elif keyword in LIST_OF_SCHEMAS and isinstance(value, list):
            for index, item in enumerate(value):
                yield from subschemas(item, (*path, keyword, index))
        elif keyword in MAP_OF_SCHEMAS and isinstance(value, dict):
            for name, item in value.items():
                yield from subschemas(item, (*path, keyword, name))
