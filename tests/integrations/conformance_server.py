"""Our server with what the published MCP conformance tool wants to call: ``python -m integrations.conformance_server``.

Its scenarios are about tools, resources and prompts of given names. They come through our HTTP door, beside our own.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from mcp.server.mcpserver import Context
from mcp_types import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

from poincare_memory import Memory
from poincare_memory.integrations.mcp_http import serve_http
from poincare_memory.integrations.mcp_server import build_server

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0D\xac\0\0\x88X\1\0\2\0\x10\0data\0\0\0\0"
).decode()

server = build_server(Memory(), name="conformance")
IMAGE = ImageContent(type="image", data=PIXEL, mime_type="image/png")


def text(of: str) -> TextContent:
    return TextContent(type="text", text=of)


def embedded(uri: str, of: str, kind: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=of))


@server.tool()
def test_simple_text() -> str:
    return "This is a simple text response for testing."


@server.tool()
def test_image_content() -> list[Any]:
    return [IMAGE]


@server.tool()
def test_audio_content() -> list[Any]:
    return [AudioContent(type="audio", data=SOUND, mime_type="audio/wav")]


@server.tool()
def test_embedded_resource() -> list[Any]:
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


@server.tool()
def test_multiple_content_types() -> list[Any]:
    about = json.dumps({"test": "data", "value": 123})
    resource = embedded("test://mixed-content-resource", about, "application/json")
    return [text("Multiple content types test:"), IMAGE, resource]


@server.tool()
def test_error_handling() -> str:
    raise ValueError("This tool intentionally returns an error for testing")


@server.tool()
async def test_tool_with_progress(ctx: Context) -> str:  # type: ignore[type-arg]
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
        await asyncio.sleep(0.05)
    return "done"


@server.tool()
async def test_sampling(prompt: str, ctx: Context) -> str:  # type: ignore[type-arg]
    message = SamplingMessage(role="user", content=text(prompt))
    answer = await ctx.session.create_message([message], max_tokens=100)
    return f"LLM response: {answer.content}"


class Person(BaseModel):
    username: str
    email: str


@server.tool()
async def test_elicitation(message: str, ctx: Context) -> str:  # type: ignore[type-arg]
    answer = await ctx.elicit(message, Person)
    return f"User response: {answer.action}"


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    return base64.b64decode(PIXEL)


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@server.prompt()
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[dict[str, Any]]:  # its name for it
    shown = embedded(resourceUri, "Embedded resource content for testing.")
    asked = text("Please process the embedded resource above.")
    return [{"role": "user", "content": shown}, {"role": "user", "content": asked}]


@server.prompt()
def test_prompt_with_image() -> list[dict[str, Any]]:
    asked = text("Please analyze the image above.")
    return [{"role": "user", "content": IMAGE}, {"role": "user", "content": asked}]


if __name__ == "__main__":
    serve_http(server, port=0)
