//! From an agent's answer to a typed value: the ladder, and the words for a repair.
//!
//! The structured answer comes first; else the JSON in the final text: a fenced block, or the last
//! object that stands in the prose. What is found must fit the type; if it does not, the message is
//! good enough to be sent back to the agent.

use schemars::JsonSchema;
pub use schemars::Schema as AnswerSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::json;

/// Longest text that is searched for JSON; the end of it counts.
const LONGEST: usize = 1024 * 1024;

/// Braces that turned out not to begin an object before the search is given up.
const MOST_MISSES: usize = 1000;

/// Why an answer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There is no JSON object in it.
    #[error("the answer has no JSON object in it")]
    Nothing,
    /// There is one, and it does not fit.
    #[error("the JSON does not fit: {0}")]
    Misfit(String),
}

impl AnswerError {
    /// Write the message that asks the agent once for a better answer.
    pub fn repair_request(&self, schema: &AnswerSchema) -> String {
        let schema = schema.as_value();
        format!(
            "Your last answer could not be used: {self}.\n\
             Answer again with one JSON object and nothing else. It must fit this JSON Schema:\n\
             {schema}"
        )
    }
}

/// An answer that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct UnusableAnswer {
    /// Problem of the answer, in words for people.
    pub why: AnswerError,
    /// Message that asks the agent once for a better answer.
    pub question: String,
}

impl UnusableAnswer {
    /// An answer that does not fit this schema.
    pub fn new(why: AnswerError, schema: &AnswerSchema) -> Self {
        Self { question: why.repair_request(schema), why }
    }
}

/// Answer of a backend: its text and, if it gave one, its structured value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackendAnswer {
    /// Text of the last answer, decoded from the output of the program.
    pub text: String,
    // Any JSON: whoever asked has a type for it, and what does not fit that type is asked for again.
    /// Structured answer, if the backend gave one.
    pub structured: Option<Value>,
}

impl BackendAnswer {
    /// Read the answer as a value of type `T`.
    /// Use the structured answer if there is one, else the last JSON object in the text that fits.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, AnswerError> {
        match &self.structured {
            Some(value) => fit(value.clone()),
            None => read_where(&self.text, |_: &T| Ok(())),
        }
    }

    /// The value that was answered and that `check` finds nothing wrong with: the structured one, else the
    /// last one in the text.
    pub fn read_where<T: DeserializeOwned>(
        &self,
        check: impl Fn(&T) -> Result<(), String>,
    ) -> Result<T, AnswerError> {
        let Some(value) = &self.structured else { return read_where(&self.text, &check) };
        let fitting = fit(value.clone())
            .and_then(|found| check(&found).map(|()| found).map_err(AnswerError::Misfit));
        fitting.or_else(|why| read_where(&self.text, &check).map_err(|_| why))
    }

    /// Check that an answer fits its type; if not, what to ask the agent for, once.
    pub fn check<T: JsonSchema + DeserializeOwned>(&self) -> Result<(), UnusableAnswer> {
        let read: Result<T, _> = self.read();
        read.map(drop).map_err(|error| UnusableAnswer::new(error, &schema_of::<T>()))
    }
}

/// The JSON Schema of an answer: `schema_of::<PrepDirective>()`.
pub fn schema_of<T: JsonSchema>() -> AnswerSchema {
    schemars::schema_for!(T)
}

/// The last value in a text that fits and that `check` finds nothing wrong with.
pub fn read_where<T: DeserializeOwned>(
    text: &str,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, AnswerError> {
    let mut misfit = None;
    for value in objects(text) {
        let checked =
            fit(value).and_then(|found| check(&found).map(|()| found).map_err(AnswerError::Misfit));
        match checked {
            Ok(found) => return Ok(found),
            // The nearest miss is the last object, which comes first.
            Err(error) => misfit = misfit.or(Some(error)),
        }
    }
    Err(misfit.unwrap_or(AnswerError::Nothing))
}

fn fit<T: DeserializeOwned>(value: Value) -> Result<T, AnswerError> {
    serde_json::from_value(value).map_err(|e| AnswerError::Misfit(e.to_string()))
}

/// The JSON objects in a text, the last one first: what comes last is what the agent settled on.
fn objects(text: &str) -> impl Iterator<Item = Value> {
    let start = text.len().saturating_sub(LONGEST);
    let text = (start..=text.len()).find_map(|i| text.get(i..)).unwrap_or_default();
    let mut found = Vec::new();
    let mut from = 0;
    let mut misses = 0;
    while misses < MOST_MISSES
        && let Some(open) = text[from..].find('{').map(|i| from + i)
    {
        let object = object_at(text, open)
            .and_then(|end| Some((end, json::parse(text.get(open..end)?).ok()?)));
        match object {
            Some((end, node)) => {
                found.push(node.to_value(&text[open..end]));
                from = end;
            }
            None => {
                misses += 1;
                from = open + 1;
            }
        }
    }
    found.into_iter().rev()
}

/// Return the end of the object that begins at `open`.
/// Count the braces and skip those inside strings.
fn object_at(text: &str, open: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (i, byte) in text.as_bytes()[open..].iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::handoff::{self, Handoff};

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Verdict {
        verdict: String,
    }

    fn in_text<T: DeserializeOwned>(text: &str) -> Result<T, AnswerError> {
        BackendAnswer { text: text.to_owned(), structured: None }.read()
    }

    fn verdict(text: &str) -> Result<String, AnswerError> {
        in_text::<Verdict>(text).map(|v| v.verdict)
    }

    #[test]
    fn the_structured_answer_comes_first() {
        let structured = Some(json!({"verdict": "accept"}));
        let answer = BackendAnswer { text: "{\"verdict\": \"reject\"}".into(), structured };
        let found: Verdict = answer.read().unwrap();
        assert_eq!(found.verdict, "accept");
    }

    #[test]
    fn json_is_found_in_prose_and_in_fences_and_the_last_fitting_one_counts() {
        assert_eq!(verdict("Done. {\"verdict\": \"a\"}").as_deref(), Ok("a"));
        let fenced = "I first thought\n```json\n{\"verdict\":\"a\"}\n```\nbut no:\n```json\n{\"verdict\":\"b }\\\"\"}\n```\nSee {x}.";
        assert_eq!(verdict(fenced).as_deref(), Ok("b }\""));
    }

    #[test]
    fn what_does_not_fit_says_why_in_words_for_the_agent() {
        assert_eq!(verdict("no json here"), Err(AnswerError::Nothing));
        let error = verdict("{\"verdikt\": 1}").unwrap_err();
        assert!(error.to_string().contains("missing field `verdict`"), "{error}");
        let request = error.repair_request(&schemars::json_schema!({"type": "object"}));
        assert!(
            request.contains("missing field `verdict`")
                && request.contains("{\"type\":\"object\"}")
        );
    }

    #[test]
    fn the_schema_of_a_handoff_names_its_required_fields_and_the_signals() {
        let schema = handoff::schema().as_value();
        let required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(required.len(), 12, "{required:?}");
        for signal in ["request_research", "request_human_review", "confidence_level"] {
            assert!(!required.contains(&signal) && schema["properties"][signal].is_object());
        }
        assert_eq!(schema["properties"]["freeform"]["minLength"], handoff::MIN_FREEFORM);
        let error = in_text::<Handoff>("{\"summary\": \"x\"}").unwrap_err();
        assert!(error.to_string().contains("task_completed"), "{error}");
    }

    #[test]
    fn a_million_open_braces_are_given_up_on() {
        assert_eq!(verdict(&"{".repeat(1_000_000)), Err(AnswerError::Nothing));
    }

    proptest! {
        #[test]
        fn any_text_is_searched_without_a_crash(text in "(\\PC|[{}\"\\\\]){0,60}") {
            let _any = verdict(&text);
        }
    }
}
