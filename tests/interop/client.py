"""The official Python client: `client.py EVERYTHING NOTES URL`."""

import asyncio
import importlib.metadata
import json
import sys
import warnings
from contextlib import asynccontextmanager

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning

import asking

# The methods of older revisions are what half of this is about.
warnings.simplefilter("ignore", MCPDeprecationWarning)

everything, notes, url = sys.argv[1:]
WATCHED = "test://watched-resource"


async def soon(condition, what):
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{what}: not within two seconds")


async def refused(code, awaitable):
    try:
        await awaitable
    except MCPError as error:
        assert error.code == code, error
        return error
    raise AssertionError(f"not refused with {code}")


class Heard:
    """What a server says without being asked."""

    def __init__(self):
        self.logs, self.updates, self.lists = [], [], []

    async def log(self, params):
        self.logs.append(params.data)

    async def message(self, message):
        match message:
            case types.ResourceUpdatedNotification():
                self.updates.append(str(message.params.uri))
            case types.ToolListChangedNotification():
                self.lists.append("tools")
            case types.PromptListChangedNotification():
                self.lists.append("prompts")
            case Exception():
                raise message


@asynccontextmanager
async def connected(server, mode):
    heard = Heard()
    client = Client(
        server, mode=mode, read_timeout_seconds=10, logging_callback=heard.log, message_handler=heard.message,
        log_level="debug", elicitation_callback=asking.elicit, sampling_callback=asking.sample,
        list_roots_callback=asking.roots,
    )
    async with client:
        modern = mode != "legacy"
        assert client.protocol_version == ("2026-07-28" if modern else "2025-11-25"), client.protocol_version
        yield client, heard, modern


@asynccontextmanager
async def changes(client, heard, modern, uri, lists=False):
    """A function that waits for the changes it is given."""
    if modern:
        async with client.listen(
            tools_list_changed=lists, prompts_list_changed=lists, resource_subscriptions=[uri]
        ) as stream:
            assert stream.honored.resource_subscriptions == [uri], stream.honored

            async def expect(*expected):
                names = {"ToolsListChanged": "tools", "PromptsListChanged": "prompts"}
                for name in expected:
                    event = await asyncio.wait_for(anext(stream), 2)
                    said = names.get(type(event).__name__) or str(event.uri)
                    assert said == name, (said, name)

            yield expect
    else:
        await client.subscribe_resource(uri)

        async def expect(*expected):
            def all_heard():
                return [*heard.lists, *heard.updates] == list(expected)

            await soon(all_heard, f"{expected}, heard {heard.lists} {heard.updates}")
            heard.lists.clear()
            heard.updates.clear()

        yield expect
        await client.unsubscribe_resource(uri)


async def try_everything(server, mode):
    async with connected(server, mode) as (client, heard, modern):
        assert client.server_info.name == "everything"
        assert client.server_capabilities.resources.subscribe and client.server_capabilities.tools.list_changed
        if not modern:
            await client.send_ping()

        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        schema = tools["json_schema_2020_12_tool"].input_schema
        assert schema["$defs"]["address"]["$anchor"] == "addressDef" and schema["if"] and schema["allOf"]

        result = await client.call_tool("test_simple_text")
        assert not result.is_error
        assert result.content[0].text == "This is a simple text response for testing."
        kinds = [block.type for block in (await client.call_tool("test_multiple_content_types")).content]
        assert kinds == ["text", "image", "resource"], kinds
        assert (await client.call_tool("test_audio_content")).content[0].mime_type == "audio/wav"
        failed = await client.call_tool("test_error_handling")
        assert failed.is_error and "intentionally" in failed.content[0].text
        header = await client.call_tool("test_custom_header", {"value": "Grüße, 世界 "})
        assert header.content[0].text == "Grüße, 世界 ", "an argument that travels in a header"

        progress = []

        async def on_progress(done, total, message):
            progress.append((done, total))

        await client.call_tool("test_tool_with_progress", progress_callback=on_progress)
        assert progress == [(0, 100), (50, 100), (100, 100)], progress

        if not modern:
            await client.set_logging_level("debug")
        await client.call_tool("test_tool_with_logging")
        await soon(lambda: len(heard.logs) == 3, f"three log messages, heard {heard.logs}")

        resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert WATCHED in resources, resources
        templates = (await client.list_resource_templates()).resource_templates
        assert templates[0].uri_template == "test://template/{id}/data"
        text = (await client.read_resource("test://static-text")).contents[0]
        assert text.text == "This is the content of the static text resource." and text.mime_type == "text/plain"
        assert (await client.read_resource("test://static-binary")).contents[0].blob.startswith("iVBORw0KGgo")
        data = (await client.read_resource("test://template/123/data")).contents[0]
        assert json.loads(data.text)["id"] == "123"

        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert "test_prompt_with_arguments" in prompts
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})
        assert prompt.messages[0].content.text == "Prompt with arguments: arg1='one', arg2='two'"
        image = await client.get_prompt("test_prompt_with_image")
        assert image.messages[0].content.type == "image"
        ref = types.PromptReference(name="test_prompt_with_arguments")
        completed = await client.complete(ref, {"name": "arg1", "value": "test"})
        assert completed.completion.values == ["testValue1", "testValue2"]

        async with changes(client, heard, modern, WATCHED, lists=True) as expect:
            await client.call_tool("test_trigger_resource_update")
            await expect(WATCHED)
            await client.call_tool("test_trigger_tool_change")
            await expect("tools")
            await client.call_tool("test_trigger_tool_change")
            await expect("tools")
            await client.call_tool("test_trigger_prompt_change")
            await expect("prompts")
            await client.call_tool("test_trigger_prompt_change")
            await expect("prompts")

        missing = await refused(-32602 if modern else -32002, client.read_resource("test://nowhere"))
        assert missing.data == {"uri": "test://nowhere"}, missing
        await refused(-32602, client.call_tool("no_such_tool"))
        await refused(-32602, client.get_prompt("test_prompt_with_arguments", {"arg1": "one"}))
        await refused(-32602, client.list_tools(cursor="no such cursor"))

        await asking.try_asking(client)

        # many at once, each with its own answer
        calls = [client.call_tool("test_custom_header", {"value": str(n)}) for n in range(50)]
        assert [result.content[0].text for result in await asyncio.gather(*calls)] == [str(n) for n in range(50)]


async def try_notes(server, mode):
    async with connected(server, mode) as (client, heard, modern):
        assert "Search before you create" in client.instructions
        async with changes(client, heard, modern, "notes://index") as expect:
            created = await client.call_tool("create", {"title": "Crème", "text": "Milk. 🦀", "tags": ["food"]})
            assert created.content[0].text == "created note 1, to be read at note://1", created
            await expect("notes://index")
        await client.call_tool("create", {"title": "Creek", "text": "Water."})
        found = await client.call_tool("search", {"query": "milk"})
        hits = found.structured_content if modern else json.loads(found.content[0].text)
        assert [hit["id"] for hit in hits] == [1], hits
        # what it declares is what it answers: the client compares them, too
        assert bool((await client.list_tools()).tools[0].output_schema) == modern

        note = (await client.read_resource("note://1")).contents[0]
        assert (note.text, note.mime_type) == ("# Crème\n\nMilk. 🦀", "text/markdown")
        review = types.PromptReference(name="review")
        assert (await client.complete(review, {"name": "title", "value": "cr"})).completion.values == ["Creek", "Crème"]
        template = types.ResourceTemplateReference(uri="note://{id}")
        assert (await client.complete(template, {"name": "id", "value": "2"})).completion.values == ["2"]
        prompt = await client.get_prompt("review", {"title": "Crème", "focus": "facts"})
        assert str(prompt.messages[1].content.resource.uri) == "note://1"

        progress = []

        async def on_progress(done, total, message):
            progress.append((done, total))

        await client.call_tool("reindex", progress_callback=on_progress)
        assert progress == [(0, 2), (2, 2)], progress

        gone = await client.call_tool("delete", {"id": 9})
        assert gone.is_error and "there is no note 9" in gone.content[0].text
        wrong = await client.call_tool("delete", {"id": "one"})
        assert wrong.is_error and "`id`" in wrong.content[0].text, wrong
        await refused(-32602 if modern else -32002, client.read_resource("note://9"))
        await refused(-32602, client.get_prompt("review", {"title": "None"}))


async def try_tasks(server):
    tasks = asking.Tasks()
    client = Client(
        server, mode="2026-07-28", read_timeout_seconds=10, extensions=[tasks], elicitation_callback=asking.elicit
    )
    async with client:
        await asking.try_tasks(client, tasks)


async def main():
    print(f"mcp {importlib.metadata.version('mcp')} (Python)")
    for mode in ["legacy", "auto", "2026-07-28"]:
        for name, server, trial in [
            ("everything, stdio", StdioServerParameters(command=everything, args=["--stdio"]), try_everything),
            ("everything, http", url, try_everything),
            ("notes, stdio", StdioServerParameters(command=notes, args=["--db", ":memory:"]), try_notes),
        ]:
            # what a pinned client does not ask, it does not know: the server's name, what it can do
            if mode == "2026-07-28":
                async with connected(server, mode) as (client, _, _):
                    assert (await client.list_tools()).tools
                    if trial is try_everything:
                        await asyncio.wait_for(asking.try_asking(client), 60)
                if trial is try_everything:
                    await asyncio.wait_for(try_tasks(server), 60)
            else:
                await asyncio.wait_for(trial(server, mode), 60)
            print(f"  passed: {name}, {mode}")


asyncio.run(main())
