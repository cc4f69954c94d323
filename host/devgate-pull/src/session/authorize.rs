//! What a registry asks for before it answers, and what is shown to it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_auth::ChallengeParser;
use reqwest::Url;
use serde::Deserialize;

/// What a `WWW-Authenticate` header asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    Bearer { realm: String, service: String },
}

impl Challenge {
    /// The first challenge in a header that can be met.
    pub(super) fn read(header: &str) -> Option<Self> {
        ChallengeParser::new(header).filter_map(Result::ok).find_map(|challenge| {
            let parameter = |name: &str| {
                let found = challenge.params.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_unescaped())
            };
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                return Some(Self::Basic);
            }
            challenge.scheme.eq_ignore_ascii_case("bearer").then_some(())?;
            Some(Self::Bearer { realm: parameter("realm")?, service: parameter("service").unwrap_or_default() })
        })
    }
}

/// A user and a password as a header has them.
pub(super) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// A form's fields as a body has them.
pub(super) fn form(fields: &[(&str, &str)]) -> String {
    let url = Url::parse_with_params("https://form.invalid/", fields);
    url.ok().and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

/// The token in an answer.
pub(super) fn token(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Answer {
        token: Option<String>,
        access_token: Option<String>,
    }
    let answer: Answer = serde_json::from_slice(bytes).ok()?;
    answer.token.or(answer.access_token).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_and_others_passed_over() {
        assert_eq!(Challenge::read(r#"Basic realm="x""#), Some(Challenge::Basic));
        let bearer =
            r#"Negotiate, Bearer realm="https://auth.example.com/token",service="registry",scope="repository:a:pull""#;
        let expected =
            Challenge::Bearer { realm: "https://auth.example.com/token".to_owned(), service: "registry".to_owned() };
        assert_eq!(Challenge::read(bearer), Some(expected));
        for unknown in ["", "Negotiate", "Bearer service=\"x\"", "Digest realm=\"x\"", "\"\"\""] {
            assert_eq!(Challenge::read(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn forms_and_tokens_are_written_and_read() {
        assert_eq!(form(&[("scope", "repository:a/b:pull"), ("x", "&=")]), "scope=repository%3Aa%2Fb%3Apull&x=%26%3D");
        assert_eq!(basic("anna", "pass:word"), "Basic YW5uYTpwYXNzOndvcmQ=");
        assert_eq!(token(br#"{"token": "a", "access_token": "b"}"#).as_deref(), Some("a"));
        assert_eq!(token(br#"{"access_token": "b", "expires_in": 60}"#).as_deref(), Some("b"));
        for none in [&b"{}"[..], b"[]", br#"{"token": ""}"#] {
            assert_eq!(token(none), None);
        }
    }
}
