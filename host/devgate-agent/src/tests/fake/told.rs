//! Events and conditions, as an API server takes them.

use super::{Refusal, State};
use http::Method;
use k8s_openapi::api::core::v1::NodeCondition;
use k8s_openapi::api::events::v1::Event;
use serde_json::Value;

impl State {
    pub(super) fn tell_of(&mut self, method: &Method, path: &str, sent: &Value) -> Result<Value, Refusal> {
        self.tells += 1;
        match *method {
            Method::POST => Ok(self.make_event(path, sent)),
            _ if path.ends_with("/nodes/node-1/status") => self.change_condition(sent),
            _ => self.change_event(path, sent),
        }
    }

    /// By the rules of `ValidateEventCreate`.
    fn make_event(&mut self, path: &str, sent: &Value) -> Value {
        let event: Event = serde_json::from_value(sent.clone()).unwrap();
        let (length, name) = (|text: Option<String>| text.unwrap().len(), event.metadata.name.clone().unwrap());
        let namespace = event.metadata.namespace.unwrap();
        assert_eq!(path, format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
        assert_eq!(namespace, event.regarding.unwrap().namespace.unwrap_or_else(|| "default".to_owned()));
        assert!(crate::slices::is_subdomain(&name, 253), "{name}");
        assert!(["Normal", "Warning"].contains(&event.type_.unwrap().as_str()) && event.event_time.is_some());
        assert!(length(event.note) <= 1024 && (1..=128).contains(&length(event.reason)));
        assert!((1..=128).contains(&length(event.action)) && (1..=128).contains(&length(event.reporting_instance)));
        assert_eq!(event.reporting_controller.unwrap(), "devgate.dev/agent");
        self.told.push(sent.clone());
        sent.clone()
    }

    fn change_event(&mut self, path: &str, sent: &Value) -> Result<Value, Refusal> {
        let path = path.trim_start_matches("/apis/events.k8s.io/v1/namespaces/");
        let (namespace, name) = path.split_once("/events/").unwrap();
        let is_it =
            |event: &&mut Value| event["metadata"]["name"] == name && event["metadata"]["namespace"] == namespace;
        let event = self.told.iter_mut().find(is_it).ok_or_else(|| (404, format!("{name} not found")))?;
        assert!(sent.as_object().unwrap().len() == 1 && sent["series"]["count"].as_u64().unwrap() >= 2, "{sent}");
        event["series"] = sent["series"].clone();
        Ok(event.clone())
    }

    /// A strategic merge: conditions are known by their types.
    fn change_condition(&mut self, sent: &Value) -> Result<Value, Refusal> {
        let version = &sent["metadata"]["resourceVersion"];
        if version.as_str().is_some_and(|version| version.parse() != Ok(self.version)) {
            return Err((409, "the object has been modified".to_owned()));
        }
        self.version += 1;
        let [condition] = sent["status"]["conditions"].as_array().unwrap().as_slice() else { panic!("{sent}") };
        match self.conditions.iter_mut().find(|there| there["type"] == condition["type"]) {
            Some(there) => there.as_object_mut().unwrap().extend(condition.as_object().unwrap().clone()),
            None => self.conditions.push(condition.clone()),
        }
        for condition in &self.conditions {
            let _understood: NodeCondition = serde_json::from_value(condition.clone()).unwrap();
        }
        Ok(sent.clone())
    }
}
