//! The page: one file, which asks for the status every two seconds and shows it. It can do nothing else.

use super::http::typed;
use base64::Engine as _;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use sha2::{Digest, Sha256};

/// Script and style are in it, and named by their digests: nothing else may run or style, whatever is shown.
const PAGE: &str = include_str!("page.html");

pub(super) fn response() -> Response<Full<Bytes>> {
    let mut response = typed(StatusCode::OK, "text/html; charset=utf-8", PAGE);
    if let Ok(policy) = HeaderValue::from_str(&content_security_policy(PAGE)) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn content_security_policy(page: &str) -> String {
    let digest = |element: &str| {
        let inner = page
            .split_once(&format!("<{element}>"))
            .and_then(|(_, rest)| rest.split_once(&format!("</{element}>")))
            .map_or("", |(inner, _)| inner);
        base64::engine::general_purpose::STANDARD.encode(Sha256::digest(inner))
    };
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        digest("script"),
        digest("style")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_else_and_makes_no_markup_of_what_it_shows() {
        assert_eq!(PAGE.matches("<script").count(), 1);
        assert_eq!(PAGE.matches("<style").count(), 1);
        for banned in
            ["http:", "https:", "src=", "href=", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("]
        {
            assert!(!PAGE.contains(banned), "{banned}");
        }
    }

    #[test]
    fn only_its_own_script_may_run() {
        let policy = content_security_policy("<style>b</style><script>a</script>");
        let a = "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=";
        assert!(policy.contains(&format!("script-src 'sha256-{a}';")), "{policy}");
        assert!(!policy.contains("unsafe"));
        assert!(content_security_policy(PAGE).len() < 1_000);
    }
}
