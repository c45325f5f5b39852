//! A markdown page as the tests see it: comments, code, links and headings, in their order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Something on a page, with its line.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) line: usize,
    pub(crate) what: What,
}

/// What can be on a page.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The words of an HTML comment.
    Comment(String),
    /// A code block: its language and its text.
    Block(String, String),
    /// Code within a line.
    Code(String),
    /// The target of a link or an image.
    Link(String),
    /// The anchor of a heading.
    Anchor(String),
}

/// A page of the repository.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// Relative to the root.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) items: Vec<Item>,
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// The pages at the root and all pages below `docs/`, sorted.
pub(crate) fn pages() -> Vec<Page> {
    let mut names = Vec::new();
    for name in ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"] {
        names.push(root().join(name));
    }
    below(&root().join("docs"), &mut names);
    names.sort();
    names.iter().map(|path| read(path)).collect()
}

fn below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "md") {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> Page {
    let text = fs::read_to_string(path).unwrap();
    let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
    let items = items(&text);
    Page { name, text, items }
}

/// What is on a page.
fn items(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut block: Option<(usize, String, String)> = None;
    let mut heading: Option<(usize, String)> = None;
    let mut comment = String::new();
    let mut anchors = Anchors::default();
    let (mut line, mut counted) = (1, 0);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        // Offsets go back a little now and then; the line of such a piece is that of its neighbour.
        if range.start > counted {
            line += text[counted..range.start].matches('\n').count();
            counted = range.start;
        }
        let mut add = |line, what| items.push(Item { line, what });
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                block = Some((line + 1, language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                let (line, language, text) = block.take().unwrap();
                add(line, What::Block(language, text));
            }
            Event::Start(Tag::Heading { .. }) => heading = Some((line, String::new())),
            Event::End(TagEnd::Heading(_)) => {
                let (line, text) = heading.take().unwrap();
                add(line, What::Anchor(anchors.of(&text)));
            }
            Event::Text(text) => {
                if let Some((_, _, code)) = &mut block {
                    code.push_str(&text);
                }
                if let Some((_, words)) = &mut heading {
                    words.push_str(&text);
                }
            }
            Event::Code(code) => {
                if let Some((_, words)) = &mut heading {
                    words.push_str(&code);
                }
                add(line, What::Code(code.to_string()));
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                add(line, What::Link(dest_url.to_string()));
            }
            // A comment of several lines comes in several pieces.
            Event::Html(html) | Event::InlineHtml(html) => {
                comment.push_str(&html);
                for source in html.split("src=\"").skip(1) {
                    let target = source.split('"').next().unwrap_or_default().to_owned();
                    add(line, What::Link(target));
                }
                if let Some((_, rest)) = comment.split_once("<!--")
                    && let Some((words, _)) = rest.split_once("-->")
                {
                    let words = words.trim().to_owned();
                    comment.clear();
                    add(line, What::Comment(words));
                }
            }
            _ => {}
        }
    }
    items
}

/// The anchors of a page, made as GitHub and mdBook make them.
#[derive(Debug, Default)]
struct Anchors(BTreeMap<String, usize>);

impl Anchors {
    fn of(&mut self, heading: &str) -> String {
        let keep = |c: char| match c {
            c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
            c if c.is_whitespace() => Some('-'),
            _ => None,
        };
        let anchor: String = heading.trim().to_lowercase().chars().filter_map(keep).collect();
        let times = self.0.entry(anchor.clone()).or_default();
        *times += 1;
        match *times {
            1 => anchor,
            n => format!("{anchor}-{}", n - 1),
        }
    }
}

#[test]
fn a_page_is_read_with_its_comments_blocks_links_and_anchors() {
    let text = "<!-- setup: node -->\n# Two `words`, here\n\nA [link](a.md#b) and `ralph x`.\n\n\
                ```console\n$ true\n```\n\n# Two words here\n<img src=\"i.svg\">\n";
    let found: Vec<String> = items(text).iter().map(|item| format!("{:?}", item.what)).collect();
    assert_eq!(
        found,
        [
            "Comment(\"setup: node\")",
            "Code(\"words\")",
            "Anchor(\"two-words-here\")",
            "Link(\"a.md#b\")",
            "Code(\"ralph x\")",
            "Block(\"console\", \"$ true\\n\")",
            "Anchor(\"two-words-here-1\")",
            "Link(\"i.svg\")",
        ]
    );
}
