//! Results as JUnit's XML, which every CI system shows. Its form is the common one: `testsuites`, `testsuite`, `testcase`.

use std::fmt::Write;
use std::time::Duration;

/// Cases that belong together.
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) cases: Vec<Case>,
}

/// One result.
pub(crate) struct Case {
    /// What it belongs to; CI systems group by it.
    pub(crate) class: String,
    pub(crate) name: String,
    /// Nothing where it was not measured.
    pub(crate) took: Option<Duration>,
    /// The first line and all of it, where it failed.
    pub(crate) failure: Option<(String, String)>,
    /// Why it was not tried, where it was not.
    pub(crate) skipped: Option<String>,
    /// What else there is to read.
    pub(crate) output: String,
}

/// The document.
pub(crate) fn xml(name: &str, suites: &[Suite]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let counts = |cases: &mut dyn Iterator<Item = &Case>| {
        let cases: Vec<_> = cases.collect();
        let failures = cases.iter().filter(|case| case.failure.is_some()).count();
        let skipped = cases.iter().filter(|case| case.skipped.is_some()).count();
        let took: Option<Duration> = cases.iter().map(|case| case.took).sum();
        let tests = cases.len();
        format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"{}", time(took))
    };
    let all = counts(&mut suites.iter().flat_map(|suite| &suite.cases));
    let _ = writeln!(text, "<testsuites name=\"{}\" {all}>", escape(name));
    for suite in suites {
        let some = counts(&mut suite.cases.iter());
        let _ = writeln!(text, "  <testsuite name=\"{}\" {some}>", escape(&suite.name));
        for case in &suite.cases {
            one(&mut text, case);
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

fn one(text: &mut String, case: &Case) {
    let (class, name) = (escape(&case.class), escape(&case.name));
    let took = time(case.took);
    let _ = writeln!(text, "    <testcase classname=\"{class}\" name=\"{name}\"{took}>");
    if let Some((message, all)) = &case.failure {
        let (message, all) = (escape(message), escape(all));
        let _ = writeln!(text, "      <failure message=\"{message}\">{all}</failure>");
    }
    if let Some(why) = &case.skipped {
        let _ = writeln!(text, "      <skipped message=\"{}\"/>", escape(why));
    }
    if !case.output.is_empty() {
        let _ = writeln!(text, "      <system-out>{}</system-out>", escape(&case.output));
    }
    text.push_str("    </testcase>\n");
}

fn time(took: Option<Duration>) -> String {
    took.map(|took| format!(" time=\"{:.3}\"", took.as_secs_f64())).unwrap_or_default()
}

/// XML has no way to say most control characters at all.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_said_ends_an_element() {
        assert_eq!(escape("a<b>&\"\u{1b}\u{0}"), "a&lt;b&gt;&amp;&quot;\\u{1b}\\u{0}");
    }

    #[test]
    fn results_are_counted() {
        let case = |name: &str, failure: Option<(String, String)>, skipped: Option<&str>, output: &str| Case {
            class: "acme".to_owned(),
            name: name.to_owned(),
            took: Some(Duration::from_millis(1_250)),
            failure,
            skipped: skipped.map(str::to_owned),
            output: output.to_owned(),
        };
        let suite = Suite {
            name: "some".to_owned(),
            cases: vec![
                case("one", None, None, ""),
                case("two", Some(("x < y".to_owned(), "x < y\nz".to_owned())), None, "said"),
                case("three", None, Some("no & why"), ""),
            ],
        };
        insta::assert_snapshot!(xml("all", &[suite]), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="all" tests="3" failures="1" errors="0" skipped="1" time="3.750">
          <testsuite name="some" tests="3" failures="1" errors="0" skipped="1" time="3.750">
            <testcase classname="acme" name="one" time="1.250">
            </testcase>
            <testcase classname="acme" name="two" time="1.250">
              <failure message="x &lt; y">x &lt; y
        z</failure>
              <system-out>said</system-out>
            </testcase>
            <testcase classname="acme" name="three" time="1.250">
              <skipped message="no &amp; why"/>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
    }
}
