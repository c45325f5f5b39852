use super::*;
use crate::answer::Part;
use crate::conversation::Tool;
use crate::scenario::Scenario;

const SCENARIO: &str = r#"{"rules": [{"when": "DO", "steps": [
    {"thinking": "hm", "text": "so be it", "write": {"path": "a.txt", "content": "x\n"},
     "usage": {"input": 1, "cache_read": 20, "cache_write": 300, "output": 4000}},
    {"shell": "ls"}
]}]}"#;

const ALL: [Protocol; 4] =
    [Protocol::Anthropic, Protocol::Responses, Protocol::Chat, Protocol::Gemini];

/// The first prompt, and the same after one tool was used, with the program's tools.
fn bodies(protocol: Protocol) -> [Value; 2] {
    match protocol {
        Protocol::Anthropic => {
            let tools = json!([{"name": "Bash"}, {"name": "Write"}]);
            let user = json!({"role": "user", "content": [
                {"type": "text", "text": "<system-reminder>DO not</system-reminder>"},
                {"type": "text", "text": "DO it"}]});
            let later = json!([user,
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}]);
            [
                json!({"model": "m", "tools": tools, "messages": [user, {"role": "system"}]}),
                json!({"model": "m", "tools": tools, "messages": later}),
            ]
        }
        Protocol::Responses => {
            let tools = json!([{"type": "function", "name": "exec_command"},
                {"type": "custom", "name": "apply_patch"}]);
            let user = json!({"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": "DO it"}]});
            let later = json!([user, {"type": "reasoning"}, {"type": "function_call"},
                {"type": "function_call_output"}]);
            [
                json!({"model": "m", "tools": tools, "input": [user]}),
                json!({"model": "m", "tools": tools, "input": later}),
            ]
        }
        Protocol::Chat => {
            let tools = json!([{"function": {"name": "write"}}, {"function": {"name": "bash"}}]);
            let user = json!({"role": "user", "content": "DO it"});
            let later = json!([user, {"role": "assistant"}, {"role": "tool"}]);
            [
                json!({"model": "m", "tools": tools, "messages": [{"role": "system"}, user]}),
                json!({"model": "m", "tools": tools, "messages": later}),
            ]
        }
        Protocol::Gemini => {
            let tools = json!([{"functionDeclarations":
                [{"name": "write_file"}, {"name": "run_shell_command"}]}]);
            let user = json!({"role": "user", "parts": [{"text": "DO it"}]});
            let later = json!([user, {"role": "model", "parts": []},
                {"role": "user", "parts": [{"functionResponse": {}}]}]);
            [
                json!({"tools": tools, "contents": [user]}),
                json!({"tools": tools, "contents": later}),
            ]
        }
    }
}

fn answer(protocol: Protocol, body: &Value) -> Answer {
    let scenario = Scenario::parse(SCENARIO).unwrap();
    let talk = protocol.read("/v1beta/models/m:generateContent", body);
    assert_eq!(talk.model, "m", "{protocol:?}");
    let due = scenario.due(&talk);
    Answer::new(1, &talk, due.as_ref())
}

fn call(answer: &Answer) -> (String, Value) {
    let mut calls = answer.parts.iter().filter_map(|part| match part {
        Part::Call(call) => Some((call.name.clone(), call.input.clone())),
        _ => None,
    });
    calls.next_back().unwrap()
}

#[test]
fn each_protocol_uses_the_tools_that_the_program_offers() {
    let names = ALL.map(|protocol| {
        let [first, later] = bodies(protocol);
        (call(&answer(protocol, &first)).0, call(&answer(protocol, &later)).0)
    });
    let expected = [
        ("Write", "Bash"),
        ("apply_patch", "exec_command"),
        ("write", "bash"),
        ("write_file", "run_shell_command"),
    ];
    assert_eq!(names, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn a_stream_and_a_whole_body_report_the_same_tokens_and_words() {
    for protocol in ALL {
        let [first, _] = bodies(protocol);
        let answer = answer(protocol, &first);
        let stream = protocol.frames(&answer).concat();
        let whole = protocol.whole(&answer).to_string();
        let input = if protocol == Protocol::Anthropic { "300" } else { "321" };
        for part in [input, "20", "4000"] {
            assert!(stream.contains(part), "{protocol:?} streams no {part}:\n{stream}");
            assert!(whole.contains(part), "{protocol:?} has no {part}:\n{whole}");
        }
        assert!(whole.contains("so be it"), "{protocol:?}:\n{whole}");
        assert!(stream.contains("so b") && stream.contains("e it"), "{protocol:?}:\n{stream}");
    }
}

#[test]
fn every_frame_of_a_stream_is_an_event_with_json() {
    for protocol in ALL {
        let [first, _] = bodies(protocol);
        for frame in protocol.frames(&answer(protocol, &first)) {
            assert!(frame.ends_with("\n\n"), "{frame:?}");
            let data = frame.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            let json = serde_json::from_str::<Value>(data);
            assert!(data == "[DONE]" || json.is_ok(), "{protocol:?}: {data}");
        }
    }
}

#[test]
fn a_call_without_tools_gets_words() {
    let mut body = bodies(Protocol::Chat)[0].clone();
    body["tools"] = json!([]);
    let answer = answer(Protocol::Chat, &body);
    assert!(!answer.has_calls(), "{answer:?}");
}

#[test]
fn tools_that_come_in_a_group_are_found() {
    let group = json!({"type": "namespace", "tools": [{"type": "custom", "name": "exec"}]});
    let body = json!({"model": "m", "input": [
        {"type": "additional_tools", "tools": [group]},
        {"role": "user", "content": "DO it"}]});
    let talk = Protocol::Responses.read("", &body);
    let exec = Tool { name: "exec".into(), input: crate::conversation::ToolInput::Free };
    assert_eq!(talk.tools, [exec]);
    let (_, input) = call(&answer(Protocol::Responses, &body));
    let script = input.as_str().unwrap();
    assert!(script.starts_with("text(await tools.apply_patch(\"*** Begin Patch\\n"), "{script}");
}

#[test]
fn paths_are_known_by_their_end() {
    let known = [
        ("POST", "/x/v1/messages", Ask::Answer(Protocol::Anthropic)),
        ("POST", "/v1/messages/count_tokens", Ask::Count(Protocol::Anthropic)),
        ("POST", "/v1/responses", Ask::Answer(Protocol::Responses)),
        ("POST", "/v1/chat/completions", Ask::Answer(Protocol::Chat)),
        ("POST", "/v1beta/models/g:streamGenerateContent", Ask::Stream(Protocol::Gemini)),
        ("GET", "/v1/models", Ask::Models),
        ("GET", "/v1/messages", Ask::Unknown),
    ];
    for (method, path, ask) in known {
        assert_eq!(Ask::of(method, path), ask, "{method} {path}");
    }
}
