"""What the Python client answers when the server asks, and its extension for tasks."""

import asyncio
from typing import Any, Literal

import mcp_types as types
from mcp.client import extension

FILLED = {
    "username": "ada", "email": "ada@example.com", "name": "Ada", "color": "blue", "ok": True, "confirm": True,
    "context": "Rust", "untitledSingle": "option1", "titledSingle": "value2", "legacyEnum": "opt3",
    "untitledMulti": ["option1", "option2"], "titledMulti": ["value3"],
}  # fmt: skip


def fill_in(schema):
    """Of a form, only what has no default is filled in."""
    return {name: FILLED[name] for name, field in schema["properties"].items() if "default" not in field}


async def elicit(context, params):
    if isinstance(params, types.ElicitRequestURLParams):
        return types.ElicitResult(action="accept")
    if params.message == "No?":
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content=fill_in(params.requested_schema))


async def sample(context, params):
    text = f'"{params.messages[0].content.text}", at most {params.max_tokens}'
    return types.CreateMessageResult(
        role="assistant", model="parrot", content=types.TextContent(text=text), stop_reason="endTurn"
    )


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///work", name="work")])


async def try_asking(client):
    """Whether by requests in a session or by rounds without one, the answers come to the same."""

    async def said(name, **args):
        result = await client.call_tool(name, args)
        assert not result.is_error, (name, result)
        return result.content[0].text

    async def same(expected, name, **args):
        text = await said(name, **args)
        assert text == expected, (name, text)

    contact = '{"username":"ada","email":"ada@example.com"}'
    await same(f"User response: accept, {contact}", "test_elicitation", message="Who?")
    await same("User response: decline", "test_elicitation", message="No?")
    profile = '{"name":"John Doe","age":30,"score":95.5,"status":"active","verified":true}'
    await same(f"Elicitation completed: {profile}", "test_elicitation_sep1034_defaults")
    chosen = await said("test_elicitation_sep1330_enums")
    assert '"legacyEnum":"opt3","untitledMulti":["option1","option2"]' in chosen, chosen
    await same("signed in", "test_elicitation_url")
    await same('LLM response: "Hello?", at most 100', "test_sampling", prompt="Hello?")
    assert "capital of France" in await said("test_missing_capability")
    await same("You work in work", "test_input_required_result_list_roots")
    await same("state-ok", "test_input_required_result_request_state")
    await same('"Say hello", at most 50 Ada, in work', "test_input_required_result_multiple_inputs")
    await same("Ada likes blue", "test_input_required_result_multi_round")
    prompt = await client.get_prompt("test_input_required_result_prompt")
    assert prompt.messages[0].content.text == "Use the following context: Rust", prompt


class Created(types.Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    poll_interval_ms: int | None = None


class Detailed(types.Result):
    task_id: str
    status: str
    input_requests: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class TaskRequest(types.Request[dict[str, Any], str]):
    name_param = "taskId"


class Tasks(extension.ClientExtension):
    """The extension `io.modelcontextprotocol/tasks`, as far as this client lets extensions have one."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self):
        self.states = []

    def claims(self):
        return [extension.ResultClaim(result_type="task", model=Created, resolve=self.resolve)]

    async def resolve(self, created, ctx):
        def ask(method, result, **params):
            request = TaskRequest(method=method, params={"taskId": created.task_id, **params})
            return ctx.session.send_request(request, result)

        self.states.append(created.status)
        while True:
            task = await ask("tasks/get", Detailed)
            self.states.append(task.status)
            if task.result:
                return types.CallToolResult.model_validate(task.result)
            assert task.status in ("working", "input_required"), task
            if task.input_requests:
                forms = {key: asked["params"]["requestedSchema"] for key, asked in task.input_requests.items()}
                answers = {key: {"action": "accept", "content": fill_in(form)} for key, form in forms.items()}
                await ask("tasks/update", types.EmptyResult, inputResponses=answers)
            await asyncio.sleep(0.02)


async def try_tasks(client, tasks):
    async def done(tool, /, **args):
        tasks.states.clear()
        return (await client.call_tool(tool, args)).content[0].text

    text = await done("slow_compute", seconds=0.05, label="sum")
    assert text == "sum is done after 0.05 s" and tasks.states[0] == "working" and tasks.states[-1] == "completed"
    assert await done("confirm_delete", filename="a.txt") == "a.txt is deleted" and "input_required" in tasks.states
    assert await done("multi_input") == "Ada: yes"
    assert await done("test_tool_with_task") == "Hello, Ada!" and tasks.states[-1] == "completed"
    assert await done("greet", name="Ada") == "Hello, Ada!" and not tasks.states
