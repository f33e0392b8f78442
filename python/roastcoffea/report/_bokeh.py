"""Bokeh, as far as it is used, and without its types: they differ from version to version."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

from roastcoffea.common.extras import needed

Plot: TypeAlias = Any

needed("the report", "bokeh", "report")
models: Any = import_module("bokeh.models")
figure: Any = import_module("bokeh.plotting").figure
value: Any = import_module("bokeh.core.properties").value
Document: Any = import_module("bokeh.document").Document
Resources: Any = import_module("bokeh.resources").Resources
