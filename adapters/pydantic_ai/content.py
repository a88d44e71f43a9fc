"""What a tool returned, as the content of its result: text, or parts where there are files."""

from collections.abc import Iterable, Iterator
from typing import Any

from ag_ui.core import AudioPart, DataSource, DocumentPart, FileSource, ImagePart, TextPart, UrlSource, VideoPart
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    FileUrl,
    ImageUrl,
    NativeToolReturnPart,
    TextContent,
    ToolReturnPart,
    UploadedFile,
    VideoUrl,
)

Media = ImagePart | AudioPart | VideoPart | DocumentPart
Part = TextPart | Media

BY_URL: dict[type[FileUrl], type[Media]] = {
    ImageUrl: ImagePart,
    AudioUrl: AudioPart,
    VideoUrl: VideoPart,
    DocumentUrl: DocumentPart,
}
BY_FAMILY: dict[str, type[Media]] = {"image": ImagePart, "audio": AudioPart, "video": VideoPart}
"""The part for a media type, by what stands before its slash; any other is a document."""


def result_content(part: ToolReturnPart | NativeToolReturnPart, beside: Any = None) -> str | list[Part]:
    """Give the content of a result, in the words in which the model gets it.

    Args:
        part: The result.
        beside: What its tool has the model see in a message of its own: text or files, which follow the result's.
    """
    more = [beside] if isinstance(beside, str) else list(beside or ())
    if not part.files and not more:
        return part.model_response_str()
    own = part.content_items(mode="str") if part.files else [part.model_response_str()]
    return list(_parts([*own, *more]))


def _parts(items: Iterable[Any]) -> Iterator[Part]:
    for item in items:
        match item:
            case str():
                if item:
                    yield TextPart(text=item)
            case TextContent():
                yield TextPart(text=item.content)
            case BinaryContent():
                yield _media(item.media_type)(source=DataSource(value=item.base64, mime_type=item.media_type))
            case ImageUrl() | AudioUrl() | VideoUrl() | DocumentUrl():
                yield BY_URL[type(item)](source=UrlSource(value=item.url, mime_type=_media_type(item)))
            case UploadedFile():
                source = FileSource(value=item.file_id, provider=item.provider_name, mime_type=_media_type(item))
                yield _media(source.mime_type or "")(source=source)


def _media(media_type: str) -> type[Media]:
    return BY_FAMILY.get(media_type.partition("/")[0], DocumentPart)


def _media_type(file: FileUrl | UploadedFile) -> str | None:
    """The media type of a file; None where neither its name nor its author says."""
    try:
        return file.media_type
    except ValueError:
        return None
