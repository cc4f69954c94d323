//! Speaking to one registry: the OCI distribution specification's requests, with a limit on everything that comes back.

mod authorize;

use crate::error::{Failure, chain};
use crate::way::{Way, is_safe};
use authorize::Challenge;
use devgate_oci::Error;
use devgate_oci::child::wire::{self, Password, credentials::Kind};
use devgate_types::{Repository, escape};
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use std::time::Duration;

/// How often a request is tried, and how long is waited in between at the most.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The most that is read of what explains an error, and of a token.
const MAX_ERROR: u64 = 16 * 1024;
const MAX_TOKEN: u64 = 64 * 1024;

/// Says what is tried again, and why.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// One pull or push, with what it has shown of itself.
pub struct Session {
    way: Way,
    /// None where it is shown nothing.
    credentials: Option<Kind>,
    repository: Repository,
    scope: &'static str,
    tell: Tell,
    authorization: Option<HeaderValue>,
    /// What was answered to the last request, if anything was.
    pub(crate) answered: Option<Answered>,
}

/// What a registry answered to [`Session::ask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replied {
    /// The HTTP status: of success, or 404.
    pub status: u16,
    /// Where it says that something is to be sent.
    pub location: Option<String>,
    /// Whether it lists what was sent by what that refers to (OCI distribution specification 1.1, `OCI-Subject`).
    pub lists_subject: bool,
}

/// An answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    /// Whether it is the registry's own, and not of another server that it led to.
    pub(crate) own: bool,
}

impl Session {
    /// Begins to speak about a repository, with leave to push where that is meant, in a runtime of tokio's. Nothing is asked yet.
    pub fn new(access: wire::Access, repository: &Repository, push: bool, tell: Tell) -> Result<Self, Error> {
        let way = Way::new(&access, repository)?;
        Ok(Self {
            way,
            credentials: access.credentials.unwrap_or_default().kind,
            repository: repository.clone(),
            scope: if push { "pull,push" } else { "pull" },
            tell,
            authorization: None,
            answered: None,
        })
    }

    /// A path of the repository, such as `manifests/latest`.
    pub(crate) fn url(&self, path: &str) -> Result<Url, Error> {
        self.way.base.join(path).map_err(|_| self.host("has an address that is none"))
    }

    /// An address that the registry gave: absolute, or its own path.
    fn given(&self, location: &str) -> Result<Url, Error> {
        let url = self.way.base.join(location).ok().filter(|url| is_safe(url, self.way.plain));
        url.ok_or_else(|| self.host("its registry gave an address to push to that is not HTTPS"))
    }

    /// Sends something to a path of the repository, or to an address that the registry gave; the body with its media type. For what
    /// writes there. Fails when the address is not safe, or the answer is neither a success nor 404.
    pub async fn ask(&mut self, method: &str, at: &str, body: Option<(&str, &[u8])>) -> Result<Replied, Error> {
        let url = self.given(at)?;
        let method = Method::from_bytes(method.as_bytes()).map_err(|error| self.host(&error.to_string()))?;
        let body = body.map(|(kind, bytes)| (kind.to_owned(), bytes.to_vec()));
        let request = |client: &Client| {
            let request = client.request(method.clone(), url.clone());
            match &body {
                Some((kind, bytes)) => request.header(CONTENT_TYPE, kind).body(bytes.clone()),
                None if method == Method::POST => request.header(CONTENT_LENGTH, 0),
                None => request,
            }
        };
        let answer = self.send(request).await?;
        let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let lists_subject = answer.headers().contains_key("OCI-Subject");
        Ok(Replied { status: answer.status().as_u16(), location: location.map(str::to_owned), lists_subject })
    }

    /// A message about what is asked for.
    pub fn host(&self, what: &str) -> Error {
        Error::Host(format!("{}: {what}", self.repository))
    }

    /// Sends a request until there is an answer that more of them would not change.
    pub(crate) async fn send(&mut self, build: impl Fn(&Client) -> RequestBuilder) -> Result<Response, Error> {
        let mut pause = PAUSE;
        for _ in 1..ATTEMPTS {
            match self.attempt(&build).await {
                Err(Failure::Passing(why, at_least)) => {
                    let wait = pause.max(at_least).min(LONGEST_PAUSE);
                    (self.tell)(&format!("{why}; tried again after {wait:?}"));
                    tokio::time::sleep(wait).await;
                    pause *= 4;
                }
                answer => return answer.map_err(Error::from),
            }
        }
        self.attempt(&build).await.map_err(Error::from)
    }

    pub(crate) async fn attempt(&mut self, build: &impl Fn(&Client) -> RequestBuilder) -> Result<Response, Failure> {
        self.answered = None;
        let response = self.once(build).await?;
        // What a registry redirects to gets no credentials, whatever it asks for.
        let own = response.url().origin() == self.way.base.origin();
        let response = if response.status() == StatusCode::UNAUTHORIZED && own {
            let challenges: Vec<String> = response
                .headers()
                .get_all(WWW_AUTHENTICATE)
                .iter()
                .filter_map(|value| Some(value.to_str().ok()?.to_owned()))
                .collect();
            drop(response);
            self.authorize(&challenges).await?;
            self.once(build).await?
        } else {
            response
        };
        self.answered =
            Some(Answered { status: response.status(), own: response.url().origin() == self.way.base.origin() });
        self.judge(response).await
    }

    async fn once(&self, build: &impl Fn(&Client) -> RequestBuilder) -> Result<Response, Failure> {
        let request = build(&self.way.client).build().map_err(|error| self.host(&chain(&error)))?;
        let (mut request, own) = (request, self.way.base.origin());
        if let Some(authorization) = self.authorization.as_ref().filter(|_| request.url().origin() == own) {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        self.way.client.execute(request).await.map_err(|error| {
            let text = format!("{}: {}", self.repository, network(error));
            Failure::Passing(text, Duration::ZERO)
        })
    }

    /// Passes on what is an answer, and says what is wrong otherwise.
    async fn judge(&self, response: Response) -> Result<Response, Failure> {
        let status = response.status();
        if status.is_success() || status == StatusCode::NOT_FOUND {
            return Ok(response);
        }
        let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let repository = &self.repository;
        let said = self.said(response).await;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let who = match &self.credentials {
                    None => "without credentials; give it some (--registry-config)".to_owned(),
                    Some(Kind::Password(Password { user, .. })) => {
                        format!(
                            "as {}; check the password and what this user may do (--registry-config)",
                            escape(user, 64)
                        )
                    }
                    _ => "with this token; check it and what it may do (--registry-config)".to_owned(),
                };
                let what = if self.scope == "pull" { "pulling" } else { "pushing" };
                Err(self.host(&format!("its registry refuses {what} {who}{said}")).into())
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                let text = format!("{repository}: its registry has had too many requests ({status}){said}");
                Err(Failure::Passing(text, Duration::from_secs(after.unwrap_or(1))))
            }
            status if status.is_server_error() => {
                let text = format!("{repository}: its registry answered {status}{said}");
                Err(Failure::Passing(text, Duration::from_secs(after.unwrap_or(0))))
            }
            status => Err(self.host(&format!("its registry answered {status}{said}")).into()),
        }
    }

    /// Gets what a registry asks for.
    async fn authorize(&mut self, challenges: &[String]) -> Result<(), Failure> {
        let challenge = challenges.iter().find_map(|text| Challenge::read(text));
        let challenge =
            challenge.ok_or_else(|| self.host("its registry asks for credentials in a way that is not known here"))?;
        let text = match challenge {
            Challenge::Basic => match &self.credentials {
                Some(Kind::Password(Password { user, password })) => authorize::basic(user, password),
                // What it says of that is the better message.
                _ => return Ok(()),
            },
            Challenge::Bearer { realm, service } => match &self.credentials {
                Some(Kind::Bearer(token)) => format!("Bearer {token}"),
                _ => format!("Bearer {}", self.token(&realm, &service).await?),
            },
        };
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| self.host("its registry gave a token that is none, or the credentials are none"))?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(())
    }

    /// A token for this repository (the distribution project's "Token Authentication Specification").
    async fn token(&self, realm: &str, service: &str) -> Result<String, Failure> {
        let realm = Url::parse(realm).ok().filter(|url| is_safe(url, self.way.plain));
        let mut url =
            realm.ok_or_else(|| self.host("its registry asks to show credentials somewhere else than over HTTPS"))?;
        let scope = format!("repository:{}:{}", self.repository.name, self.scope);
        let request = if let Some(Kind::Identity(token)) = &self.credentials {
            let form = [
                ("grant_type", "refresh_token"),
                ("service", service),
                ("client_id", "devgate"),
                ("scope", &scope),
                ("refresh_token", token),
            ];
            let body = authorize::form(&form);
            self.way.direct.post(url).header("Content-Type", "application/x-www-form-urlencoded").body(body)
        } else {
            url.query_pairs_mut().append_pair("service", service).append_pair("scope", &scope);
            let request = self.way.client.get(url);
            match &self.credentials {
                Some(Kind::Password(Password { user, password })) => request.basic_auth(user, Some(password)),
                _ => request,
            }
        };
        let answer = request.send().await.map_err(|error| {
            let text = format!("{}: token: {}", self.repository, network(error));
            Failure::Passing(text, Duration::ZERO)
        })?;
        if answer.status() == StatusCode::BAD_REQUEST {
            let said = self.said(answer).await;
            return Err(self.host(&format!("its registry gives no token{said}")).into());
        }
        let answer = self.judge(answer).await?;
        let bytes = self.body(answer, MAX_TOKEN).await?;
        let token =
            authorize::token(&bytes).ok_or_else(|| self.host("its registry gave a token that cannot be read"))?;
        Ok(token)
    }

    /// What a registry says of an error: ` (UNAUTHORIZED: authentication required)`.
    async fn said(&self, response: Response) -> String {
        let bytes = self.body(response, MAX_ERROR).await.unwrap_or_default();
        let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let text = |at| Some(said.pointer(at)?.as_str().unwrap_or_default());
        let (code, message) = (text("/errors/0/code"), text("/errors/0/message").unwrap_or_default());
        code.map_or_else(String::new, |code| format!(" ({}: {})", escape(code, 40), escape(message, 160)))
    }

    /// A body of at most `most` bytes.
    pub(crate) async fn body(&self, response: Response, most: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let mut take = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        self.pieces(response, most, &mut take).await?;
        Ok(bytes)
    }

    /// The same, as it comes.
    pub(crate) async fn pieces(&self, mut response: Response, most: u64, take: &mut Take<'_>) -> Result<(), Error> {
        let mut come = 0_u64;
        while let Some(chunk) = response.chunk().await.map_err(|error| self.host(&network(error)))? {
            come = come.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
            if come > most {
                return Err(self.host(&format!("its registry sent more than the {most} bytes that are expected")));
            }
            take(&chunk)?;
        }
        Ok(())
    }
}

/// Takes a part of a body.
pub(crate) type Take<'a> = dyn FnMut(&[u8]) -> Result<(), Error> + Send + 'a;

/// Why there is no answer: what lies behind the words of the client's layers.
fn network(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(next) = cause.source() {
        let said = cause.to_string();
        if !said.starts_with("error sending request") && !said.starts_with("client error") {
            break;
        }
        cause = next;
    }
    let text = chain(cause);
    // As rustls writes it.
    if text.contains("UnknownIssuer") {
        return format!("{text}; if its authority is your own, name the authority's certificate (--registry-ca)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_a_registry_gives_is_its_own_or_https() {
        let repository: devgate_types::Reference = "registry.example.com/a".parse().unwrap();
        let registries = devgate_oci::Registries { plain_loopback: true, ..devgate_oci::Registries::default() };
        let access = registries.access(&repository.repository).unwrap();
        // A machine without certificate authorities says so; that is another test's.
        let Ok(session) = Session::new(access, &repository.repository, true, Box::new(|_| {})) else {
            return;
        };
        assert_eq!(
            session.given("/v2/a/uploads/1?x=y").unwrap().as_str(),
            "https://registry.example.com/v2/a/uploads/1?x=y"
        );
        assert!(session.given("https://store.example.com/1").is_ok());
        assert!(session.given("http://store.example.com/1").is_err());
    }
}
