"""Any event of the protocol, made by the SDK's own models."""

from typing import Any, get_args

from ag_ui._generated import models
from ag_ui.core import BaseEvent
from hypothesis import strategies as st

EVENT_MODELS: list[type[BaseEvent]] = list(get_args(get_args(models.Event)[0]))
"""The 31 event models."""

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SMALL_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
POINTER = st.lists(st.sampled_from(["a", "~0", "~1", "0", ""]), max_size=3).map(
    lambda parts: "".join(f"/{p}" for p in parts)
)


def events_of(model: type[BaseEvent]) -> st.SearchStrategy[Any]:
    """Valid instances of one event model, with each optional field present or absent."""
    return _instances(model)


def _instances(model: Any) -> st.SearchStrategy[Any]:
    fields = {}
    for name, info in model.model_fields.items():
        value = _of(info.annotation, info)
        fields[name] = value if info.is_required() else st.none() | value
        if not info.is_required() and info.default is not None:
            fields[name] = st.just(info.default)
    return st.fixed_dictionaries(fields).map(
        lambda values: model(
            **{k: v for k, v in values.items() if v is not None or model.model_fields[k].is_required()}
        )
    )


def _of(annotation: Any, info: Any = None) -> st.SearchStrategy[Any]:
    origin, args = getattr(annotation, "__origin__", None), get_args(annotation)
    if annotation is Any:
        return SMALL_JSON
    if annotation is str:
        constraints = getattr(info, "metadata", [])
        return POINTER if any(hasattr(item, "pattern") for item in constraints) else TEXT
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(0, 2**53 - 1)
    if isinstance(annotation, type) and origin is None:
        return _instances(annotation)
    if origin is dict:
        return st.dictionaries(TEXT, SMALL_JSON, max_size=2)
    if origin is list:
        return st.lists(_of(args[0]), min_size=1, max_size=2)
    if hasattr(annotation, "__metadata__"):  # Annotated
        return _of(args[0], args[1])
    if str(origin) == "typing.Literal":
        return st.sampled_from(args)
    return st.one_of([_of(option, info) for option in args if option is not type(None)])
