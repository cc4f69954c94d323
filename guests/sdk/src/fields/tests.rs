use super::*;

fn fields(json: &str) -> Fields {
    Fields::parse(json).unwrap()
}

/// What is wrong with the value of `a`.
fn wrong<T: std::fmt::Debug>(json: &str, read: fn(Field) -> Result<T, Error>) -> String {
    let field = fields(&format!(r#"{{"a": {json}}}"#)).require("a").unwrap();
    let error = read(field).unwrap_err();
    assert!(error.kind == crate::ErrorKind::Invalid && error.code.is_empty());
    error.message
}

const WORDS: [(&str, u8); 3] = [("none", 0), ("cards", 1), ("all", 2)];

#[test]
fn keys_are_taken_out_by_what_they_are() {
    let mut all = fields(
        r#"{"text": "a", "one": "a", "texts": ["a", "b"], "name": "a.b/c", "number": 3, "switch": true, "word": "all"}"#,
    );
    assert!(!all.is_empty());
    assert_eq!(all.text("text").unwrap().as_deref(), Some("a"));
    assert_eq!(all.texts("one").unwrap().unwrap(), ["a"]);
    assert_eq!(all.texts("texts").unwrap().unwrap(), ["a", "b"]);
    assert_eq!(all.resource("name").unwrap().as_deref(), Some("a.b/c"));
    assert_eq!(all.number("number").unwrap(), Some(3));
    assert_eq!(all.switch("switch").unwrap(), Some(true));
    assert_eq!(all.choice("word", &WORDS).unwrap(), Some(2));
    assert!(all.is_empty());
    all.end().unwrap();
}

#[test]
fn what_is_not_said_is_nothing() {
    for json in ["null", "{}"] {
        let mut none = fields(json);
        assert!(none.is_empty());
        assert_eq!((none.text("a").unwrap(), none.texts("a").unwrap()), (None, None));
        assert_eq!((none.resource("a").unwrap(), none.number("a").unwrap()), (None, None));
        assert_eq!((none.switch("a").unwrap(), none.choice("a", &WORDS).unwrap()), (None, None));
        assert_eq!(none.require("a").unwrap_err().message, "config: `a` is missing");
        none.end().unwrap();
    }
}

#[test]
fn what_is_no_mapping_is_refused() {
    for (json, message) in [
        ("[]", "config: must be a mapping, is a list"),
        ("3", "config: must be a mapping, is a number"),
        ("\"a\"", "config: must be a mapping, is text"),
        ("{", "config: not JSON: EOF while parsing an object at line 1 column 1"),
    ] {
        assert_eq!(Fields::parse(json).unwrap_err().message, message);
    }
}

#[test]
fn what_is_of_another_kind_is_told() {
    let text = |field: Field| field.text().map(str::to_owned);
    let number = |field: Field| field.number();
    let switch = |field: Field| field.switch();
    for (message, expected) in [
        (wrong("null", text), "config a: must be text in quotes, is nothing"),
        (wrong("3", text), "config a: must be text in quotes, is a number"),
        (wrong("{}", text), "config a: must be text in quotes, is a mapping"),
        (wrong("3", Field::texts), "config a: must be text in quotes, is a number"),
        (wrong(r#"["b", true]"#, Field::texts), "config a[1]: must be text in quotes, is true or false"),
        (wrong("[]", Field::texts), "config a: must not be empty"),
        (wrong("\"3\"", number), "config a: must be a whole number, 0 or more, is text"),
        (wrong("-1", number), "config a: must be a whole number, 0 or more"),
        (wrong("1.5", number), "config a: must be a whole number, 0 or more"),
        (wrong("\"yes\"", switch), "config a: must be true or false, is text"),
        (wrong("[]", Field::list), "config a: must not be empty"),
        (wrong("\"b\"", Field::list), "config a: must be a list, is text"),
        (wrong("{}", Field::elements), "config a: must be a list, is a mapping"),
        (wrong("[]", Field::entries), "config a: must be a mapping, is a list"),
        (wrong("null", Field::fields), "config a: must be a mapping, is nothing"),
    ] {
        assert_eq!(message, expected);
    }
}

#[test]
fn a_resource_has_a_domain() {
    let resource = |field: Field| field.resource().map(str::to_owned);
    let expected = "config a: must be a resource's name, such as vendor.com/device";
    assert_eq!(wrong("\"gpu\"", resource), expected);
    assert_eq!(wrong("true", resource), format!("{expected}, is true or false"));
}

#[test]
fn words_are_listed_where_there_is_another() {
    let one = |field: Field| field.choice(&WORDS[..1]);
    let two = |field: Field| field.choice(&WORDS[..2]);
    let three = |field: Field| field.choice(&WORDS);
    for (message, expected) in [
        (wrong("\"some\"", one), "config a: must be none"),
        (wrong("\"None\"", two), "config a: must be none or cards"),
        (wrong("\"some\"", three), "config a: must be none, cards or all"),
        (wrong("false", three), "config a: must be none, cards or all, is true or false"),
    ] {
        assert_eq!(message, expected);
    }
}

#[test]
fn lists_and_mappings_know_where_their_values_stand() {
    let mut root = fields(r#"{"list": [{"any": {"b": 1, "c": [2]}}], "empty": []}"#);
    assert!(root.require("empty").unwrap().elements().unwrap().is_empty());
    let mut list = root.require("list").unwrap().list().unwrap();
    let mut first = list.remove(0).fields().unwrap();
    assert_eq!(first.refused("is wrong").message, "config list[0]: is wrong");
    let entries = first.require("any").unwrap().entries().unwrap();
    let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["b", "c"]);
    for (field, place) in entries.into_iter().zip(["list[0].any.b", "list[0].any.c[0]"]) {
        let last = field.1.several().unwrap().remove(0);
        assert_eq!(last.refused("is wrong").message, format!("config {place}: is wrong"));
    }
}

#[test]
fn what_was_not_asked_for_is_refused_beside_what_was() {
    let mut root = fields(r#"{"a": 1, "c": {"d": 2}}"#);
    root.number("a").unwrap();
    root.number("b").unwrap();
    let inner = root.require("c").unwrap().fields().unwrap();
    assert_eq!(inner.end().unwrap_err().message, "config c: unknown key `d`; none is known here");
    root.end().unwrap();
    let mut root = fields(r#"{"a": 1, "c": {"d": 2}}"#);
    assert!(root.take("a").is_some() && root.take("b").is_none());
    assert_eq!(root.end().unwrap_err().message, "config: unknown key `c`; known here: a, b");
}
