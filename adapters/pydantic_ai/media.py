"""A client's media as PydanticAI reads them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from ag_ui.core import ContentPart, DataSource, FileSource, TextPart, UrlSource
from pydantic_ai.messages import FileUrl, UploadedFileProviderName

from adapters.media import Trust, Unusable, bare_type, refuse_url, strict_base64, type_of_kind


def fit(part: ContentPart, trust: Trust) -> ContentPart:
    """A part as PydanticAI reads it: strict base64, a bare mime type of the part's own kind, no foreign metadata.

    Raises:
        Unusable: The model cannot be given it, or may not.
    """
    if isinstance(part, TextPart):
        return part
    update: dict[str, Any] = {"metadata": _metadata(part.metadata)}
    match part.source:
        case UrlSource(value=url, mime_type=mime_type) as source:
            refuse_url(url, trust)
            update["source"] = source.model_copy(update={"mime_type": bare_type(mime_type or "") or None})
        case DataSource(value=value, mime_type=mime_type) as source:
            fitted = {"value": strict_base64(value), "mime_type": type_of_kind(part.type, mime_type)}
            update["source"] = source.model_copy(update=fitted)
        case source:
            _refuse_file(source, trust)
    return part.model_copy(update=update)


def _refuse_file(source: FileSource, trust: Trust) -> None:
    if not trust.provider_files:
        raise Unusable("a client may not name files at the model's provider")
    if source.provider not in get_args(UploadedFileProviderName):
        raise Unusable("it names no known provider")


def _metadata(metadata: Any) -> dict[str, Any] | None:
    """What PydanticAI reads of a part's metadata, if it has the shape of it; whether to download is ours to say."""
    vendor = metadata.get("vendor_metadata") if isinstance(metadata, dict) else None
    return {"vendor_metadata": vendor} if isinstance(vendor, dict) else None


# ---- files in results -----------------------------------------------------------------------------


def screened(content: Any, trust: Trust, refused: Callable[[Unusable], None]) -> Any:
    """What a result was parsed into, without the URLs that a client may not give, at any depth.

    `refused` is told why of each. Where nothing is refused, the content itself is returned.
    """
    reasons: list[Unusable] = []
    rest = _screened(content, trust, reasons)
    for reason in reasons:
        refused(reason)
    if not reasons:
        return content
    return "" if rest is _GONE else rest


_GONE = object()


def _screened(value: Any, trust: Trust, reasons: list[Unusable]) -> Any:
    if isinstance(value, FileUrl):
        try:
            refuse_url(value.url, trust)
        except Unusable as reason:
            reasons.append(reason)
            return _GONE
    elif isinstance(value, Mapping):
        members = {name: _screened(member, trust, reasons) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not _GONE}
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [kept for kept in (_screened(member, trust, reasons) for member in value) if kept is not _GONE]
    return value
