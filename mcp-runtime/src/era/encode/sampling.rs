//! The parameters of `sampling/createMessage`, as the client's revision and capabilities allow.

use serde_json::{Map, Value, json};

use crate::protocol::sampling::{IncludeContext, SampleMessage, SampleRequest};
use crate::protocol::{Revision, Role};
use crate::sort;

/// The client's capabilities beyond plain sampling.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SamplingCan {
    /// `sampling.tools`.
    pub(crate) tools: bool,
    /// `sampling.context`.
    pub(crate) context: bool,
}

impl SampleRequest {
    /// The `params` of `sampling/createMessage`, or an error for the handler that says what to change.
    pub(crate) fn params(&self, revision: Revision, can: SamplingCan) -> Result<Value, String> {
        let tools = revision.has_sampling_tools() && can.tools;
        if !tools && self.needs_tools() {
            return Err("the client's model cannot use tools: its capability `sampling.tools` is missing; \
                        ask without tools"
                .into());
        }
        self.check()?;
        let mut params = Map::new();
        params.insert("messages".into(), messages(&self.messages, revision, tools)?.into());
        params.insert("maxTokens".into(), self.max_tokens.into());
        let mut put = |key: &str, value: Option<Value>| params.extend(value.map(|value| (key.to_owned(), value)));
        put("systemPrompt", self.system.as_deref().map(Value::from));
        put("temperature", self.temperature.map(Value::from));
        put("stopSequences", (!self.stop.is_empty()).then(|| json!(self.stop)));
        put("modelPreferences", self.preferences());
        // https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#capabilities
        let context = self.include_context.filter(|context| *context == IncludeContext::None || can.context);
        put("includeContext", context.map(|context| json!(context)));
        put("metadata", self.metadata.clone());
        put("tools", (!self.tools.is_empty()).then(|| json!(self.tools)));
        put("toolChoice", self.tool_choice.map(|choice| json!(choice)));
        Ok(params.into())
    }

    fn needs_tools(&self) -> bool {
        let used = |message: &SampleMessage| message.has("tool_use") || message.has("tool_result");
        !self.tools.is_empty() || self.tool_choice.is_some() || self.messages.iter().any(used)
    }

    /// Rejects what no client accepts.
    fn check(&self) -> Result<(), String> {
        if self.messages.is_empty() {
            return Err("the conversation has no message; give it at least one".into());
        }
        if self.temperature.is_some_and(|temperature| !temperature.is_finite()) {
            return Err("the temperature must be a number".into());
        }
        let priorities = [self.cost, self.speed, self.intelligence];
        if priorities.into_iter().flatten().any(|priority| !(0.0..=1.0).contains(&priority)) {
            return Err("priorities must lie between 0 and 1".into());
        }
        if self.metadata.as_ref().is_some_and(|metadata| !metadata.is_object()) {
            return Err("the metadata must be an object".into());
        }
        check_tool_results(&self.messages)
    }

    fn preferences(&self) -> Option<Value> {
        let mut preferences = Map::new();
        if !self.hints.is_empty() {
            let hints = self.hints.iter().map(|name| json!({"name": name}));
            preferences.insert("hints".into(), hints.collect());
        }
        let priorities = [self.cost, self.speed, self.intelligence];
        for (key, priority) in ["costPriority", "speedPriority", "intelligencePriority"].into_iter().zip(priorities) {
            preferences.extend(priority.map(|priority| (key.to_owned(), priority.into())));
        }
        (!preferences.is_empty()).then(|| preferences.into())
    }
}

impl SampleMessage {
    fn has(&self, kind: &str) -> bool {
        self.blocks.iter().any(|block| block["type"] == kind)
    }

    /// The ids of its blocks of a kind, sorted.
    fn ids(&self, kind: &str, member: &str) -> Vec<&str> {
        let blocks = self.blocks.iter().filter(|block| block["type"] == kind);
        let ids: Vec<&str> = blocks.filter_map(|block| block[member].as_str()).collect();
        sort::by_text(&ids, |id| id)
    }
}

/// Checks that every tool use has its result in the next message, and that this message has nothing else.
/// <https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#message-content-constraints>
fn check_tool_results(messages: &[SampleMessage]) -> Result<(), String> {
    let mut wanted = Vec::new();
    for message in messages {
        let results = message.ids("tool_result", "toolUseId");
        if !results.is_empty() && results.len() < message.blocks.len() {
            return Err(
                "a message with tool results must contain nothing else; put the rest into the next message".into()
            );
        }
        if results != wanted {
            return Err("each tool use needs exactly one result, with its id, in the next message".into());
        }
        wanted = message.ids("tool_use", "id");
    }
    match wanted[..] {
        [] => Ok(()),
        _ => Err("the model waits for tool results; add `SampleMessage::tool_results`".into()),
    }
}

/// The messages on the wire. Several blocks of one message are a list, or a message each for a client without lists.
fn messages(messages: &[SampleMessage], revision: Revision, lists: bool) -> Result<Vec<Value>, String> {
    let mut wire = Vec::new();
    for SampleMessage { role, blocks } in messages {
        let blocks = blocks.iter().map(|each| block(each, revision)).collect::<Result<Vec<_>, _>>()?;
        match &blocks[..] {
            [_, _, ..] if lists => wire.push(message(*role, &json!(blocks))),
            _ => wire.extend(blocks.iter().map(|block| message(*role, block))),
        }
    }
    Ok(wire)
}

fn message(role: Role, content: &Value) -> Value {
    json!({"role": role, "content": content})
}

fn block(block: &Value, revision: Revision) -> Result<Value, String> {
    let mut block = block.clone();
    match block["type"].as_str() {
        Some("audio") if !revision.wire().audio => {
            Err(format!("revision {revision} has no audio; send its transcript as text"))
        }
        Some("resource" | "resource_link") => {
            Err("a model can be shown text, images and audio only; put the resource's text into the message".into())
        }
        Some("tool_result") => {
            // The content says the same as text.
            let structured = revision.wire().structured_output;
            if let Value::Object(block) = &mut block {
                block.retain(|key, value| key != "structuredContent" || structured.allows(value.is_object()));
            }
            Ok(block)
        }
        _ => Ok(block),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::sampling::{SampleResult, SampleTool, ToolChoice};
    use crate::protocol::{Content, ToolResult};

    const ALL: SamplingCan = SamplingCan { tools: true, context: true };
    const NONE: SamplingCan = SamplingCan { tools: false, context: false };

    #[test]
    fn text_alone_is_a_request() {
        for revision in Revision::ALL.iter().copied() {
            assert_eq!(
                SampleRequest::from("Hi").params(revision, NONE).unwrap(),
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 1000})
            );
        }
    }

    #[test]
    fn every_parameter_is_sent() {
        let request = SampleRequest::new([SampleMessage::user("Hi"), SampleMessage::assistant("Hello")])
            .message(SampleMessage::user("Well?"))
            .max_tokens(5)
            .system("Be brief.")
            .temperature(0.5)
            .stop(["\n"])
            .model_hint("sonnet")
            .model_hint("claude")
            .priorities(0.25, 0.5, 1.0)
            .include_context(IncludeContext::ThisServer)
            .metadata(json!({"k": 1}))
            .tools([SampleTool::new("t", "A tool.", json!({"type": "object"}))])
            .tool_choice(ToolChoice::Required);
        let mut params = request.params(Revision::V2025_11_25, ALL).unwrap();
        assert_eq!(params["messages"].take().as_array().unwrap().len(), 3);
        assert_eq!(
            params,
            json!({
                "messages": null, "maxTokens": 5, "systemPrompt": "Be brief.", "temperature": 0.5,
                "stopSequences": ["\n"],
                "modelPreferences": {
                    "hints": [{"name": "sonnet"}, {"name": "claude"}],
                    "costPriority": 0.25, "speedPriority": 0.5, "intelligencePriority": 1.0,
                },
                "includeContext": "thisServer", "metadata": {"k": 1},
                "tools": [{"name": "t", "description": "A tool.", "inputSchema": {"type": "object"}}],
                "toolChoice": {"mode": "required"},
            })
        );
    }

    #[test]
    fn context_is_left_out_without_the_capability() {
        let asked = |context, can| {
            let request = SampleRequest::from("Hi").include_context(context);
            request.params(Revision::V2026_07_28, can).unwrap().get("includeContext").cloned()
        };
        assert_eq!(asked(IncludeContext::AllServers, ALL), Some(json!("allServers")));
        assert_eq!(asked(IncludeContext::AllServers, NONE), None);
        assert_eq!(asked(IncludeContext::None, NONE), Some(json!("none")));
    }

    #[test]
    fn multiple_blocks_are_a_list_or_separate_messages() {
        let request = SampleRequest::from(SampleMessage::user("Look:").with_content(Content::image(b"x", "image/png")));
        let text = json!({"type": "text", "text": "Look:"});
        let image = json!({"type": "image", "data": "eA==", "mimeType": "image/png"});
        let sent = |revision, can| request.params(revision, can).unwrap()["messages"].take();
        assert_eq!(sent(Revision::V2025_11_25, ALL), json!([{"role": "user", "content": [text, image]}]));
        let split = json!([{"role": "user", "content": text}, {"role": "user", "content": image}]);
        assert_eq!(sent(Revision::V2025_06_18, ALL), split);
        assert_eq!(sent(Revision::V2026_07_28, NONE), split);
    }

    fn tool_round() -> SampleRequest {
        let answer = json!({
            "role": "assistant", "model": "m", "stopReason": "toolUse",
            "content": [{"type": "tool_use", "id": "u1", "name": "t", "input": {"a": 1}, "_meta": {"c": 2}}],
        });
        let answer = SampleResult::read(&answer).unwrap();
        let id = &answer.tool_uses()[0].id;
        let result = ToolResult::default().with_structured(&[1]).unwrap().with_error(true);
        SampleRequest::from("Hi").message(&answer).message(SampleMessage::tool_results([(id, result)]))
    }

    #[test]
    fn tool_uses_and_results_are_sent_back() {
        let sent = |revision| tool_round().params(revision, ALL).unwrap()["messages"].take();
        let tool_use = json!({"type": "tool_use", "id": "u1", "name": "t", "input": {"a": 1}, "_meta": {"c": 2}});
        let mut result = json!({
            "type": "tool_result", "toolUseId": "u1", "content": [{"type": "text", "text": "[1]"}],
            "isError": true, "structuredContent": [1],
        });
        let modern = sent(Revision::V2026_07_28);
        assert_eq!(modern[1], json!({"role": "assistant", "content": tool_use}));
        assert_eq!(modern[2], json!({"role": "user", "content": result}));
        result.as_object_mut().unwrap().remove("structuredContent");
        assert_eq!(sent(Revision::V2025_11_25)[2]["content"], result);

        let tool_use = SampleResult::read(&json!({"role": "assistant", "model": "m", "content": tool_use})).unwrap();
        assert_eq!(SampleMessage::tool_use(tool_use.tool_uses().to_vec()), SampleMessage::from(tool_use));
    }

    #[test]
    fn tools_require_the_capability() {
        let error = |request: SampleRequest, revision, can| request.params(revision, can).unwrap_err();
        let with_tool = || SampleRequest::from("Hi").tools([SampleTool::new("t", "", json!({"type": "object"}))]);
        for error in [
            error(with_tool(), Revision::V2026_07_28, NONE),
            error(with_tool(), Revision::V2025_06_18, ALL),
            error(SampleRequest::from("Hi").tool_choice(ToolChoice::None), Revision::V2025_11_25, NONE),
            error(tool_round(), Revision::V2025_11_25, NONE),
        ] {
            assert!(error.contains("`sampling.tools` is missing"), "{error}");
        }
    }

    #[test]
    fn invalid_requests_are_rejected() {
        let result = || SampleMessage::tool_results([("u1", ToolResult::text("x"))]);
        let cases = [
            (SampleRequest::new([]), "no message"),
            (SampleRequest::from("Hi").temperature(f64::NAN), "temperature must be a number"),
            (SampleRequest::from("Hi").priorities(0.0, 0.0, 1.1), "between 0 and 1"),
            (SampleRequest::from("Hi").metadata(3), "metadata must be an object"),
            (SampleRequest::from(result()), "each tool use needs exactly one result"),
            (tool_round().message(result()), "each tool use needs exactly one result"),
            (tool_round().message(result().with_content("more")), "must contain nothing else"),
            (SampleRequest::new([tool_round().messages.swap_remove(1)]), "waits for tool results"),
            (
                SampleRequest::from(SampleMessage::user(Content::resource(crate::protocol::ResourceContents::text(
                    "x",
                )))),
                "text, images and audio only",
            ),
        ];
        for (request, why) in cases {
            let error = request.params(Revision::V2026_07_28, ALL).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let audio = SampleRequest::from(SampleMessage::user(Content::audio(b"x", "audio/wav")));
        assert!(audio.params(Revision::V2025_03_26, NONE).is_ok());
        assert!(audio.params(Revision::V2024_11_05, NONE).unwrap_err().contains("has no audio"));
    }

    #[test]
    fn results_are_one_block_or_a_list() {
        let answer =
            |content: Value| SampleResult::read(&json!({"role": "assistant", "model": "m", "content": content}));
        let text = json!({"type": "text", "text": "a"});
        let one = answer(text.clone()).unwrap();
        assert_eq!((one.text(), &*one.model, one.role, &one.stop_reason), ("a".into(), "m", Role::Assistant, &None));
        assert_eq!(answer(json!([text, text])).unwrap().text(), "a\na");
        assert_eq!(answer(json!([])).unwrap().content(), &[] as &[Value]);
        for (content, why) in [
            (json!("a"), "has no `type`"),
            (json!({"type": "text"}), "has no string `text`"),
            (json!({"type": "image", "data": "x"}), "has no string `mimeType`"),
            (json!({"type": "tool_use", "id": "1", "name": "t", "input": 3}), "is not an object"),
            (json!({"type": "tool_use", "id": "1", "name": "t"}), "missing field `input`"),
            (json!({"type": "resource"}), "type `resource`"),
        ] {
            let error = answer(content).unwrap_err();
            assert!(error.contains(why) && error.contains("sampling/createMessage"), "{error}");
        }
        let error = SampleResult::read(&json!({"role": "assistant", "content": text})).unwrap_err();
        assert!(error.contains("missing field `model`"), "{error}");
    }
}
