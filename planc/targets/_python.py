"""Python modules from templates. A value comes out as a Python literal, whatever it holds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from planc import resources

if TYPE_CHECKING:
    from jinja2 import Environment

#: How torch calls the dtypes of the language.
DTYPES = {"bf16": "torch.bfloat16", "fp16": "torch.float16", "fp32": "torch.float32"}


class Code(str):
    """Text that is Python already."""

    __slots__ = ()


def render_python(template: str, values: Mapping[str, Any]) -> str:
    """Text of a module's template, named like `fsdp2/parallelize.py.jinja`, with the values put in."""
    return _environment().get_template(template).render(values)


def literal(value: Any, indent: str = "") -> str:
    """The value as Python writes it, in ASCII; a value of another kind is a mistake in the template."""
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, str):
        text = ascii(value)
        return text if '"' in text or "\\'" in text else f'"{text[1:-1]}"'
    if isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        deeper = f"{indent}    "
        lines = (f"{deeper}{literal(name)}: {literal(item, deeper)},\n" for name, item in value.items())
        return f"{{\n{''.join(lines)}{indent}}}" if value else "{}"
    raise TypeError(f"the template put in {value}, which is no text, number or collection of them")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(lambda name: resources.read_text(f"templates/{name}")),
        undefined=StrictUndefined,
        finalize=literal,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
