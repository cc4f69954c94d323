//! What a claim or its class says of an allocation: for the component, which may be told lies.

use super::*;
use devgate_types::component::Profile;
use devgate_types::{CallError, Edits, Failure, FailureKind, GuestFault, GuestText, Origin, Setting};
use std::sync::Mutex;

fn with(settings: &[(Origin, &str)], ids: &[&str]) -> Ask {
    let setting = |(origin, json): &(Origin, &str)| Setting { origin: *origin, json: (*json).to_owned() };
    Ask { settings: settings.iter().map(setting).collect(), ..ask(ids) }
}

const ODD: [(Origin, &str); 1] = [(Origin::Claim, "{\"odd\": true}")];

/// The two GPUs of a component that takes parameters so.
async fn gpus(
    dir: &Path,
    allocate_with: impl Fn(&[Setting]) -> Result<Edits, CallError> + Send + Sync + 'static,
) -> (World, Arc<dyn Offer>, Arc<dyn Devices>) {
    let mut fake = Fake::gpus();
    fake.profile = Profile { parameters: true, ..Profile::default() };
    fake.allocate_with = Box::new(move |_, settings| allocate_with(settings));
    host(dir, POLICY, fake).await
}

fn env(name: &str, value: &str) -> Edits {
    Edits { env: vec![property(name, value)], ..Edits::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_is_told_them_in_order_and_once() {
    let dir = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    let (_world, _gpus, devices) = gpus(dir.path(), move |settings| {
        noted.lock().unwrap().push(settings.to_vec());
        Ok(env("GPUS_FAKE_COM_GPU", FIRST))
    })
    .await;
    let asked = with(&[(Origin::Class, "{}"), (Origin::Claim, "[1]")], &[FIRST]);
    let who = claim("gpu.devgate.dev", "a");
    let given = get(&devices, &who, std::slice::from_ref(&asked)).await.unwrap();
    assert_eq!(given[0].reply.env["GPUS_FAKE_COM_GPU"], FIRST);
    assert_eq!(get(&devices, &who, std::slice::from_ref(&asked)).await.unwrap(), given);
    assert_eq!(*told.lock().unwrap(), [asked.settings]);
    // Without any it is asked as ever.
    get(&devices, &claim("gpu.devgate.dev", "b"), &[ask(&[SECOND])]).await.unwrap();
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_takes_none_is_not_asked_and_nothing_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let (_world, gpus, devices) = host(dir.path(), POLICY, Fake::gpus()).await;
    let error = get(&devices, &claim("gpu.devgate.dev", "a"), &[with(&ODD, &[FIRST])]).await.unwrap_err();
    let expected = "plugin gpus: resource fake.com/gpu: its component takes no parameters (it exports no devgate:plugin/parameters): \
                    take `config` out of the claim and its class, or have them ignored (dra.parameters)";
    assert_eq!(error, expected);
    assert_eq!(recorded(dir.path()), [""; 0]);
    give(&gpus, &[FIRST]).await.unwrap();
}

/// Else who may make claims could take devices away from all others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_tenants_words_come_to_takes_no_device_away() {
    type Answer = fn() -> Result<Edits, CallError>;
    let answers: [(Answer, &str); 3] = [
        (|| Err(GuestFault::Trap(GuestText::new("unreachable")).into()), "allocate trapped"),
        (|| Ok(env("LD_PRELOAD", "/x.so")), "variable LD_PRELOAD"),
        (|| Err(CallError::Failed(Failure::new(FailureKind::Invalid, "\u{1b}[2Jodd"))), "failed: \\u{1b}[2Jodd"),
    ];
    for (answer, why) in answers {
        let dir = tempfile::tempdir().unwrap();
        let (world, gpus, devices) = gpus(dir.path(), move |_| answer()).await;
        for n in 0..8 {
            let who = claim("gpu.devgate.dev", &format!("uid{n}"));
            let error = get(&devices, &who, &[with(&ODD, &[FIRST])]).await.unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(world.plugins.status_reader().status()[0].resting, 0);
        give(&gpus, &[FIRST]).await.unwrap();
    }
}
