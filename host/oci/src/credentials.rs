//! Who one is at a registry: `config.json`, as docker, podman and Kubernetes' pull secrets have it.

use crate::error::{Error, FileError, read_file};
use crate::message::wire::{Credentials, Password, credentials::Kind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use devgate_types::Repository;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The largest file that is read.
const MAX_FILE: u64 = 1024 * 1024;
/// What docker's own registry is called in the file.
const DOCKER: &str = "https://index.docker.io/v1/";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Deserialize, Default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

/// What the file says of a repository, or of its whole registry; anonymous where it says nothing, or where there is no file to read. Fails
/// when the file cannot be read, or leaves it to another program.
pub(crate) fn of(file: Option<&Path>, repository: &Repository) -> Result<Credentials, Error> {
    let Some(file) = file else {
        return Ok(Credentials::default());
    };
    let failed = |why: FileError| Error::Host(format!("{}: {why} (--registry-config)", file.display()));
    let found = read_file(file, MAX_FILE).and_then(|bytes| read(&bytes, repository));
    found.map_err(failed)
}

fn read(bytes: &[u8], repository: &Repository) -> Result<Credentials, FileError> {
    let registry = &repository.registry;
    // What is wrong is not shown: it may be a password.
    let no_config = |e: serde_json::Error| format!("is no config.json (line {}, column {})", e.line(), e.column());
    let config: Config = serde_json::from_slice(bytes).map_err(|error| FileError::Wrong(no_config(error)))?;
    let helper = |key: &str| {
        FileError::Wrong(format!(
            "leaves {registry} to a helper program ({key}), and none is run here; put the credentials into \"auths\""
        ))
    };
    let fitting = config.auths.into_iter().filter_map(|(name, entry)| Some((fit(&name, repository)?, entry)));
    // What is meant for this repository alone comes before what is for all of its registry.
    let Some(entry) = fitting.max_by_key(|(fit, _)| *fit) else {
        let helped = config.cred_helpers.keys().any(|name| fit(name, repository).is_some());
        if helped {
            return Err(helper("credHelpers"));
        }
        return Ok(Credentials::default());
    };
    let entry = entry.1;
    let text = |value: Option<String>| value.filter(|text| !text.is_empty());
    if let Some(token) = text(entry.registrytoken) {
        return Ok(Kind::Bearer(token).into());
    }
    if let Some(token) = text(entry.identitytoken) {
        return Ok(Kind::Identity(token).into());
    }
    if let Some(user) = text(entry.username) {
        let password = entry.password.unwrap_or_default();
        return Ok(Kind::Password(Password { user, password }).into());
    }
    let Some(auth) = text(entry.auth) else {
        if config.creds_store.is_some() {
            return Err(helper("credsStore"));
        }
        return Ok(Credentials::default());
    };
    let decoded = STANDARD.decode(auth.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let both = decoded.as_deref().and_then(|text| text.trim_end_matches('\0').split_once(':'));
    let no_auth = || FileError::Wrong(format!("has an \"auth\" of {registry} that is not base64 of USER:PASSWORD"));
    let (user, password) = both.ok_or_else(no_auth)?;
    Ok(Kind::Password(Password { user: user.to_owned(), password: password.to_owned() }).into())
}

/// How closely a name in the file means the repository: by how many letters of its name, and not at all where it means another.
/// A name may have a scheme before it, and behind it what podman and Kubernetes have there, the beginning of a repository's name, or
/// what docker has there, the version of a registry's interface.
fn fit(name: &str, repository: &Repository) -> Option<usize> {
    if name == DOCKER {
        return (repository.registry == "docker.io").then_some(0);
    }
    let bare = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")).unwrap_or(name);
    let (host, path) = bare.split_once('/').unwrap_or((bare, ""));
    if host != repository.registry {
        return None;
    }
    let path = path.trim_end_matches('/');
    if matches!(path, "" | "v1" | "v2") {
        return Some(0);
    }
    let rest = repository.name.strip_prefix(path)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(path.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(registry: &str, name: &str) -> Repository {
        Repository { registry: registry.to_owned(), name: name.to_owned() }
    }

    fn of_text(text: &str) -> Result<Credentials, String> {
        read(text.as_bytes(), &at("registry.example.com", "vendor/gpu")).map_err(|why| why.to_string())
    }

    fn password(user: &str, password: &str) -> Credentials {
        Kind::Password(Password { user: user.to_owned(), password: password.to_owned() }).into()
    }

    #[test]
    fn every_form_of_credentials_is_read() {
        let anna = password("anna", "pass:word");
        for text in [
            r#"{"auths": {"registry.example.com": {"auth": "YW5uYTpwYXNzOndvcmQ="}}}"#,
            r#"{"auths": {"https://registry.example.com/v2/": {"auth": "YW5uYTpwYXNzOndvcmQ="}}}"#,
            r#"{"auths": {"registry.example.com": {"username": "anna", "password": "pass:word"}}}"#,
        ] {
            assert_eq!(of_text(text).unwrap(), anna, "{text}");
        }
        let token = r#"{"auths": {"registry.example.com": {"auth": "YTpi", "identitytoken": "t"}}}"#;
        assert_eq!(of_text(token).unwrap(), Kind::Identity("t".to_owned()).into());
        let token = r#"{"auths": {"registry.example.com": {"registrytoken": "t"}}}"#;
        assert_eq!(of_text(token).unwrap(), Kind::Bearer("t".to_owned()).into());
        for unnamed in [
            "{}",
            r#"{"auths": {"registry.example.com:5000": {"auth": "YTpi"}, "example.com": {"auth": "YTpi"}}}"#,
            r#"{"auths": {"registry.example.com": {}}}"#,
            r#"{"credHelpers": {"other.example.com": "x"}}"#,
        ] {
            assert_eq!(of_text(unnamed).unwrap(), Credentials::default(), "{unnamed}");
        }
        let docker = format!(r#"{{"auths": {{"{DOCKER}": {{"auth": "YTpi"}}}}}}"#);
        assert_eq!(read(docker.as_bytes(), &at("docker.io", "a")).unwrap(), password("a", "b"));
    }

    #[test]
    fn credentials_of_one_repository_are_not_shown_for_another() {
        let text = r#"{"auths": {
            "registry.example.com/vend": {"auth": "dmVuZDp4"},
            "registry.example.com/vendor": {"auth": "dmVuZG9yOng="},
            "registry.example.com/vendor/gpu": {"auth": "Z3B1Ong="},
            "https://registry.example.com/other/": {"auth": "b3RoZXI6eA=="}
        }}"#;
        let user = |text: &str, name: &str| match read(text.as_bytes(), &at("registry.example.com", name)).unwrap().kind
        {
            Some(Kind::Password(Password { user, .. })) => user,
            _ => "no user's".to_owned(),
        };
        for (name, expected) in [
            ("vendor/gpu", "gpu"),
            ("vendor/gpu/debug", "gpu"),
            ("vendor/gpu2", "vendor"),
            ("vendor", "vendor"),
            ("other/a", "other"),
            ("third/a", "no user's"),
        ] {
            assert_eq!(user(text, name), expected, "{name}");
        }
        let all = text.replace("registry.example.com/vend\"", "registry.example.com\"");
        assert_eq!((user(&all, "third/a"), user(&all, "vendor/gpu")), ("vend".to_owned(), "gpu".to_owned()));
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_nothing_secret_is_said() {
        let refused = |text: &str| of_text(text).unwrap_err();
        insta::assert_snapshot!(refused(r#"{"auths": {"registry.example.com": "secret"}}"#), @"is no config.json (line 1, column 43)");
        insta::assert_snapshot!(refused(r#"{"auths": {"registry.example.com": {"auth": "c2VjcmV0"}}}"#), @r#"has an "auth" of registry.example.com that is not base64 of USER:PASSWORD"#);
        insta::assert_snapshot!(refused(r#"{"credHelpers": {"registry.example.com": "x"}}"#), @r#"leaves registry.example.com to a helper program (credHelpers), and none is run here; put the credentials into "auths""#);
        insta::assert_snapshot!(refused(r#"{"auths": {"registry.example.com": {}}, "credsStore": "x"}"#), @r#"leaves registry.example.com to a helper program (credsStore), and none is run here; put the credentials into "auths""#);
        assert_eq!(format!("{:?}", password("anna", "secret")), "Credentials");
    }
}
