//! Sequence diagrams of a path: as SVG for the explorer, as Mermaid text for `show --format mermaid`.
//!
//! Actors stand side by side, time goes down, one row a step. A message is an arrow from the row of the step that sent it
//! to the row of the step that delivered it, so that what overtakes what is seen as arrows that cross.

use std::fmt::Write;

use crate::protocol::{Protocol, Walk};
use crate::world::{Action, Envelope, World};

/// A path as a diagram needs it.
struct Sequence {
    actors: Vec<String>,
    /// What happens at each step, from 1.
    events: Vec<Event>,
    messages: Vec<Message>,
    /// The properties that the last state violates.
    violated: Vec<String>,
}

enum Event {
    /// An actor does something of its own accord, or a timer of it runs out.
    Local { actor: u8, text: String },
    /// A message, by its index, arrives.
    Arrives(usize),
    /// A message, by its index, is lost.
    Lost(usize),
}

struct Message {
    lost: bool,
    src: u8,
    dst: u8,
    text: String,
    /// The step that sent it; 0 where it is there from the beginning.
    sent: usize,
    /// The step that ended it.
    ended: Option<usize>,
}

impl Sequence {
    fn new<P: Protocol>(protocol: &P, walk: &Walk<P>) -> Self {
        let actors = protocol.lanes();
        let mut messages = Vec::new();
        // Which messages are in flight, the oldest first: of two equal ones, the older arrives.
        let mut flying: Vec<(Envelope<P::Msg>, usize)> = Vec::new();
        let send = |flying: &mut Vec<_>, messages: &mut Vec<Message>, envelope: &Envelope<P::Msg>, sent| {
            flying.push((*envelope, messages.len()));
            let text = protocol.describe_message(&envelope.msg);
            let lane = |id| protocol.lane(id, &envelope.msg);
            let (src, dst) = (lane(envelope.src), lane(envelope.dst));
            messages.push(Message { src, dst, text, sent, ended: None, lost: false });
        };
        if let Some((start, _)) = walk.first() {
            for envelope in &start.network {
                send(&mut flying, &mut messages, envelope, 0);
            }
        }
        let mut events = Vec::new();
        for (number, pair) in walk.windows(2).enumerate() {
            let step = number + 1;
            let Some(action) = &pair[0].1 else { continue };
            let mut end = |flying: &mut Vec<(Envelope<P::Msg>, usize)>, envelope: &Envelope<P::Msg>| {
                let at = flying.iter().position(|(other, _)| other == envelope)?;
                let (_, index) = flying.remove(at);
                messages[index].ended = Some(step);
                Some(index)
            };
            let event = match action {
                Action::Deliver(envelope) => end(&mut flying, envelope).map(Event::Arrives),
                Action::Drop(envelope) => end(&mut flying, envelope).map(|index| {
                    messages[index].lost = true;
                    Event::Lost(index)
                }),
                Action::Timeout(actor, timer) => Some(Event::Local {
                    actor: protocol.lane_of_timer(*actor, timer),
                    text: first_line(&protocol.describe_action(action)),
                }),
            };
            let described = || Event::Local { actor: 0, text: first_line(&protocol.describe_action(action)) };
            events.push(event.unwrap_or_else(described));
            // What is in the network now and is not accounted for was sent by this step.
            let mut known: Vec<_> = flying.iter().map(|(envelope, _)| *envelope).collect();
            for envelope in &pair[1].0.network {
                match known.iter().position(|other| other == envelope) {
                    Some(at) => drop(known.swap_remove(at)),
                    None => send(&mut flying, &mut messages, envelope, step),
                }
            }
        }
        let world = World::new(protocol.clone());
        let violated = walk.last().map_or_else(Vec::new, |(last, _)| {
            world.violations(last).map(|claim| format!("{}: {}", claim.id, claim.statement)).collect()
        });
        Self { actors, events, messages, violated }
    }
}

fn narrow(id: usize) -> u8 {
    u8::try_from(id).unwrap_or(u8::MAX)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("").to_owned()
}

/// Sizes, in pixels.
const MARGIN: usize = 44;
const HEAD: usize = 46;
const ROW: usize = 34;
const FLYING_ROW: usize = 20;
/// The width that a character takes at most, at the size that the labels have.
const CHARACTER: usize = 7;
const STYLE: &str = "<style>\
text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1c2430}\
.paper{fill:#fbfaf7}.life{stroke:#b9bfc9;stroke-dasharray:3 4}.actor{fill:#dfe8f5;stroke:#5b7aa6}\
.name{font-weight:bold;text-anchor:middle}.number{fill:#8a919c;text-anchor:end}\
.message{stroke:#2d5fa8;stroke-width:1.4;fill:none}.flying{stroke:#2d5fa8;stroke-dasharray:2 4;fill:none}\
.lost{stroke:#b3261e;stroke-dasharray:5 3;fill:none}.cross{stroke:#b3261e;stroke-width:2;fill:none}.event{fill:#2d5fa8}\
.label{text-anchor:middle;paint-order:stroke;stroke:#fbfaf7;stroke-width:5px;stroke-linejoin:round}\
.beside{paint-order:stroke;stroke:#fbfaf7;stroke-width:5px;stroke-linejoin:round}\
.wrong{fill:#b3261e;font-weight:bold}</style>";

/// A diagram as SVG. A path without a step has none.
pub fn svg<P: Protocol>(protocol: &P, walk: &Walk<P>) -> Option<String> {
    let sequence = Sequence::new(protocol, walk);
    if sequence.events.is_empty() { None } else { Some(draw(&sequence)) }
}

fn draw(sequence: &Sequence) -> String {
    let width_of = |text: &str| text.chars().count() * CHARACTER;
    // A label has as much room as its arrow spans columns.
    let room =
        |message: &Message| (width_of(&message.text) + 40) / usize::from(message.src.abs_diff(message.dst)).max(1);
    let widest_message = sequence.messages.iter().map(room).max().unwrap_or(0);
    let widest_name = sequence.actors.iter().map(|name| width_of(name)).max().unwrap_or(0);
    let column = widest_message.max(widest_name + 40).clamp(120, 420);
    let x = |actor: u8| MARGIN + column / 2 + usize::from(actor) * column;
    let y = |step: usize| HEAD + 8 + step * ROW;
    let last = sequence.events.len();
    // What is still under way ends below the last step, each in a row of its own.
    let flying = sequence.messages.iter().filter(|message| message.ended.is_none()).count();
    let foot = y(last) + ROW / 2 + flying * FLYING_ROW;
    let claims = sequence.violated.iter().map(|claim| MARGIN + width_of(claim) + 12 * CHARACTER);
    let width = claims.max().unwrap_or(0).max(MARGIN + sequence.actors.len() * column) + 16;
    let height = foot + 12 + sequence.violated.len() * 20;

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         style=\"width:100%;max-width:{width}px;height:auto\">{STYLE}<defs>{}</defs><rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>",
        marker("arrow", "#2d5fa8"),
    );
    for (id, name) in sequence.actors.iter().enumerate() {
        let (x, box_width) = (x(narrow(id)), width_of(name) + 24);
        let _ = write!(
            out,
            "<line class=\"life\" x1=\"{x}\" y1=\"{HEAD}\" x2=\"{x}\" y2=\"{foot}\"/>\
             <rect class=\"actor\" x=\"{}\" y=\"12\" width=\"{box_width}\" height=\"26\" rx=\"4\"/>\
             <text class=\"name\" x=\"{x}\" y=\"29\">{}</text>",
            x - box_width / 2,
            escaped(name),
        );
    }
    for step in 1..=last {
        let _ = write!(out, "<text class=\"number\" x=\"{}\" y=\"{}\">{step}</text>", MARGIN - 14, y(step) + 4);
    }
    // Lines first, then labels, so that no line goes through a word.
    let mut labels = String::new();
    let mut under_way = 0;
    for message in &sequence.messages {
        let end = message.ended.map_or_else(
            || {
                under_way += 1;
                y(last) + under_way * FLYING_ROW
            },
            y,
        );
        arrow(
            &mut out,
            &mut labels,
            message,
            &Line { from: (x(message.src), y(message.sent)), to: (x(message.dst), end) },
        );
    }
    for (number, event) in sequence.events.iter().enumerate() {
        if let Event::Local { actor, text } = event {
            let (x, y) = (x(*actor), y(number + 1));
            let _ = write!(out, "<circle class=\"event\" cx=\"{x}\" cy=\"{y}\" r=\"4\"/>");
            // To the right, unless that leads out of the picture.
            let (x, anchor) = if x + 10 + width_of(text) <= width { (x + 10, "start") } else { (x - 10, "end") };
            let _ = write!(
                labels,
                "<text class=\"beside\" text-anchor=\"{anchor}\" x=\"{x}\" y=\"{}\">{}</text>",
                y + 4,
                escaped(text)
            );
        }
    }
    out.push_str(&labels);
    for (number, claim) in sequence.violated.iter().enumerate() {
        let y = foot + 14 + number * 20;
        let _ = write!(out, "<text class=\"wrong\" x=\"{MARGIN}\" y=\"{y}\">violates {}</text>", escaped(claim));
    }
    out.push_str("</svg>");
    out
}

fn marker(id: &str, colour: &str) -> String {
    format!(
        "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0L10 5L0 10z\" fill=\"{colour}\"/></marker>"
    )
}

/// Where a message goes from and to.
struct Line {
    from: (usize, usize),
    to: (usize, usize),
}

fn arrow(out: &mut String, labels: &mut String, message: &Message, line: &Line) {
    let Line { from: (from_x, from_y), to: (mut to_x, to_y) } = *line;
    let (class, marker, end) = match (message.ended, message.lost) {
        (None, _) => ("flying", "", " ..."),
        (Some(_), false) => ("message", " marker-end=\"url(#arrow)\"", ""),
        (Some(_), true) => ("lost", "", " is lost"),
    };
    if class != "message" {
        // It does not get there.
        to_x = usize::midpoint(from_x, to_x);
    }
    let _ =
        write!(out, "<line class=\"{class}\" x1=\"{from_x}\" y1=\"{from_y}\" x2=\"{to_x}\" y2=\"{to_y}\"{marker}/>");
    if message.lost {
        let _ = write!(
            out,
            "<path class=\"cross\" d=\"M{} {}l10 10m0 -10l-10 10\"/>",
            to_x.saturating_sub(5),
            to_y.saturating_sub(5)
        );
    }
    // Near the arrow's end, where the eye looks for what the step was.
    let middle = usize::midpoint(from_x, to_x);
    let (label_x, label_y) = match class {
        "message" => (usize::midpoint(middle, usize::midpoint(middle, to_x)), to_y - to_y.saturating_sub(from_y) / 3),
        _ => (to_x, to_y),
    };
    let _ = write!(
        labels,
        "<text class=\"label\" x=\"{label_x}\" y=\"{}\">{}{end}</text>",
        label_y.saturating_sub(4),
        escaped(&message.text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A diagram as Mermaid text. Mermaid draws no slanted arrows: a message that was under way for longer than a step says
/// when it was sent.
pub fn mermaid<P: Protocol>(protocol: &P, walk: &Walk<P>) -> String {
    let sequence = Sequence::new(protocol, walk);
    let mut out = "sequenceDiagram\n    autonumber\n".to_owned();
    for (id, name) in sequence.actors.iter().enumerate() {
        let _ = writeln!(out, "    participant p{id} as {}", plain(name));
    }
    for (number, event) in sequence.events.iter().enumerate() {
        let step = number + 1;
        let _ = match event {
            Event::Local { actor, text } => writeln!(out, "    p{actor}->>p{actor}: {}", plain(text)),
            Event::Arrives(index) | Event::Lost(index) => {
                let Message { src, dst, text, sent, .. } = &sequence.messages[*index];
                let since = if sent + 1 == step { String::new() } else { format!(" (sent at {sent})") };
                let lost = matches!(event, Event::Lost(_));
                let (line, lost) = if lost { ("-x", ", lost") } else { ("->>", "") };
                writeln!(out, "    p{src}{line}p{dst}: {}{since}{lost}", plain(text))
            }
        };
    }
    for message in sequence.messages.iter().filter(|message| message.ended.is_none()) {
        let Message { src, dst, text, sent, .. } = message;
        let _ = writeln!(out, "    Note over p{src},p{dst}: in flight since {sent}: {}", plain(text));
    }
    for claim in &sequence.violated {
        let all = sequence.actors.len().saturating_sub(1);
        let _ = writeln!(out, "    Note over p0,p{all}: violates {}", plain(claim));
    }
    out
}

/// Mermaid ends a text at `;` and at `#`.
fn plain(text: &str) -> String {
    text.replace(';', ",").replace('#', "no. ")
}
