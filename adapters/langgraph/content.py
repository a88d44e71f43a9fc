"""The parts of a message as LangChain's content blocks, and back: type, source and mime type stay what they are.

| part | block |
|---|---|
| text | `{"type": "text", "text"}` |
| image, audio, video | `{"type": the same}` |
| document | `{"type": "file"}` |
| by data | `"base64"`, `"mime_type"` |
| by url | `"url"`, and `"mime_type"` where it is known |
| by a provider's file | `"file_id"`, and the provider under `"extras"` |
| metadata | under `"extras"`, where no provider reads it; its `filename` also where they do |
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ag_ui.core import (
    AudioPart,
    ContentPart,
    DataSource,
    DocumentPart,
    FileSource,
    ImagePart,
    TextPart,
    UrlSource,
    VideoPart,
)
from langchain_core.messages import ToolMessage

from adapters.media import Trust, Unusable, bare_type, refuse_url, strict_base64, type_of_kind

Block: TypeAlias = dict[str, Any]

_MEDIA: Mapping[str, type[ImagePart | AudioPart | VideoPart | DocumentPart]] = {
    "image": ImagePart,
    "audio": AudioPart,
    "video": VideoPart,
    "file": DocumentPart,
    "text-plain": DocumentPart,
}
_ANY_TYPE = "application/octet-stream"


def block_of(part: ContentPart, trust: Trust) -> Block:
    """A part of a client's message as a model is given it.

    Raises:
        Unusable: The model cannot be given it, or may not.
    """
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    extras: dict[str, Any] = {}
    match part.source:
        case UrlSource(value=url, mime_type=mime_type):
            refuse_url(url, trust)
            source = {"url": url, "mime_type": bare_type(mime_type or "")}
        case DataSource(value=value, mime_type=mime_type):
            source = {"base64": strict_base64(value), "mime_type": type_of_kind(part.type, mime_type)}
        case file:
            if not trust.provider_files:
                raise Unusable("a client may not name files at the model's provider")
            source = {"file_id": file.value, "mime_type": bare_type(file.mime_type or "")}
            extras = {"provider": file.provider} if file.provider else {}
    if part.metadata is not None:
        extras["metadata"] = part.metadata
        name = part.metadata.get("filename") if isinstance(part.metadata, dict) else None
        extras |= {"filename": name} if isinstance(name, str) else {}
    kind = "file" if part.type == "document" else part.type
    known = {name: value for name, value in source.items() if value}
    return {"type": kind, **known, **({"extras": extras} if extras else {})}


def tool_content(message: ToolMessage) -> str | list[ContentPart]:
    """What a tool returned, as the content of a result: text, or parts where there are files.

    A block that is neither, such as a tool's JSON, is its JSON text.
    """
    if isinstance(message.content, str):
        return message.content
    blocks = [standard for block in message.content for standard in _standard(block)]
    parts = [part for block in blocks if (part := _part_of(block)) is not None]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "\n".join(texts) if len(texts) == len(parts) else parts


_MALFORMED = (LookupError, TypeError, ValueError, AttributeError)


def _standard(block: Any) -> Iterator[Block]:
    """The standard blocks that a provider's or a tool's block is; LangChain raises for some that are malformed."""
    try:
        standard = ToolMessage([block], tool_call_id="").content_blocks
    except _MALFORMED:
        yield {"type": "non_standard", "value": block}
    else:
        yield from (dict(one) for one in standard)


def _part_of(block: Block) -> ContentPart | None:
    """The part that a standard block is; None for an empty text."""
    kind, text = block.get("type"), block.get("text")
    if kind in ("text", "text-plain") and isinstance(text, str):
        return TextPart(text=text) if text else None
    source = _source_of(block) if kind in _MEDIA else None
    if source is None:
        value = block.get("value") if kind == "non_standard" else block
        return TextPart(text=json.dumps(value, ensure_ascii=False, default=str))
    metadata = _extras(block).get("metadata")
    if metadata is None and "filename" in _extras(block):
        metadata = {"filename": _extras(block)["filename"]}
    return _MEDIA[str(kind)](source=source, metadata=metadata)


def _source_of(block: Block) -> DataSource | UrlSource | FileSource | None:
    mime_type = block.get("mime_type")
    match block:
        case {"base64": str(data)}:
            return DataSource(value=data, mime_type=mime_type or _ANY_TYPE)
        case {"url": str(url)}:
            head, is_data, data = url.partition(";base64,")
            if is_data and head.startswith("data:"):
                return DataSource(value=data, mime_type=bare_type(head[5:]) or mime_type or _ANY_TYPE)
            return UrlSource(value=url, mime_type=mime_type)
        case {"file_id": str(handle)}:
            return FileSource(value=handle, provider=_extras(block).get("provider"), mime_type=mime_type)
    return None


def _extras(block: Block) -> Mapping[str, Any]:
    extras = block.get("extras")
    return extras if isinstance(extras, dict) else {}


def joined(blocks: Sequence[Block]) -> str | list[str | Block]:
    """Blocks as a message's content: one text where that is all they are."""
    if all(block["type"] == "text" for block in blocks):
        return "".join(block["text"] for block in blocks)
    return list(blocks)
