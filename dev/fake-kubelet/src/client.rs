//! The kubelet's calls of one plugin, and the registration that leads to them.

use std::path::PathBuf;
use std::sync::Arc;

use devgate_types::ResourceName;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use super::devices::Devices;
use super::dial::dial;
use super::{Answer, Event, Shared, go_text};
use devgate_kubelet::api;
use devgate_kubelet::api::device_plugin_client::DevicePluginClient;

/// What a call becomes whose connection the kubelet closed, as grpc-go prints it.
pub(super) const CLOSING: &str = "rpc error: code = Canceled desc = grpc: the client connection is closing";

/// One registration of one plugin.
pub(super) struct Client {
    pub(super) resource: String,
    pub(super) path: PathBuf,
    endpoint: String,
    plugin: tokio::sync::OnceCell<DevicePluginClient<Channel>>,
    /// Ends the stream and with it the connection.
    pub(super) disconnect: CancellationToken,
}

impl Client {
    /// The plugin's calls; `None` before it was dialled.
    pub(super) fn plugin(&self) -> Option<DevicePluginClient<Channel>> {
        self.plugin.get().cloned()
    }
}

/// The service on `kubelet.sock`.
pub(super) struct Registration {
    pub(super) shared: Arc<Shared>,
    /// The process that serves it: a call that it took is of no concern to the next one.
    pub(super) alive: CancellationToken,
}

#[tonic::async_trait]
impl api::registration_server::Registration for Registration {
    async fn register(&self, request: Request<api::RegisterRequest>) -> Result<Response<api::Empty>, Status> {
        let request = request.into_inner();
        let (resource, endpoint) = (request.resource_name.clone(), request.endpoint.clone());
        self.shared.events.push(Event::Asked { resource: resource.clone(), endpoint: endpoint.clone() });
        let answer = self.shared.answer.borrow().clone();
        let late = match answer {
            Answer::Hang => {
                // Until a test changes the answer; the plugin hears an error then.
                let mut changes = self.shared.answer.subscribe();
                let _ = changes.wait_for(|answer| *answer != Answer::Hang).await;
                return Err(Status::unavailable("stand-in no longer hangs"));
            }
            Answer::Refuse(error) => Err(error),
            Answer::Real | Answer::HangUp | Answer::NoDial => Ok(None),
            Answer::Late(delay) => Ok(Some(delay)),
        };
        let (shared, alive) = (Arc::clone(&self.shared), self.alive.clone());
        // The kubelet goes on even if the plugin's call ends meanwhile.
        let registered = match late {
            Ok(_) => tokio::spawn(async move { register(&shared, &alive, &request).await })
                .await
                .unwrap_or_else(|error| Err(error.to_string())),
            Err(ref error) => Err(error.clone()),
        };
        if let Ok(Some(delay)) = late {
            tokio::time::sleep(delay).await;
        }
        registered.map(|()| Response::new(api::Empty {})).map_err(|error| {
            self.shared.events.push(Event::Refused { resource, error: error.clone() });
            Status::unknown(error)
        })
    }
}

/// `server.go`, Register, and `client.go`, Connect.
async fn register(
    shared: &Arc<Shared>,
    alive: &CancellationToken,
    request: &api::RegisterRequest,
) -> Result<(), String> {
    if request.version != api::VERSION {
        return Err(format!(
            "requested API version {:?} is not supported by kubelet. Supported version is [{:?}]",
            request.version,
            api::VERSION
        ));
    }
    if ResourceName::try_new(&request.resource_name).is_err() {
        return Err(format!("the ResourceName {:?} is invalid", request.resource_name));
    }
    let client = Arc::new(Client {
        resource: request.resource_name.clone(),
        // As Go's filepath.Join: an absolute endpoint is nested, too.
        path: shared.config.dir.join(request.endpoint.trim_start_matches('/')),
        endpoint: request.endpoint.clone(),
        plugin: tokio::sync::OnceCell::new(),
        disconnect: alive.child_token(),
    });
    with_process(shared, alive, |process| process.registry.remember(&client))?;
    let connecting = connect(shared, &client);
    let connected = tokio::select! {
        connected = connecting => connected,
        () = alive.cancelled() => Err("kubelet stopped".to_owned()),
    };
    let (plugin, options) = match connected {
        Ok(connected) => connected,
        Err(error) => {
            with_process(shared, alive, |process| {
                process.registry.forget(&client, shared.config.version);
            })?;
            return Err(error);
        }
    };
    let _ = client.plugin.set(plugin.clone());
    with_process(shared, alive, |process| {
        process.registry.connected(&client, options);
        shared.events.push(Event::Registered { resource: client.resource.clone(), endpoint: client.endpoint.clone() });
    })?;
    if *shared.answer.borrow() == Answer::HangUp {
        client.disconnect.cancel();
    }
    let (shared, alive) = (Arc::clone(shared), alive.clone());
    tokio::spawn(async move {
        let run = run(&shared, &alive, &client, plugin);
        tokio::select! {
            () = run => {}
            // A process that ends takes its connections with it and marks nothing.
            () = alive.cancelled() => {}
        }
    });
    Ok(())
}

async fn connect(
    shared: &Shared,
    client: &Client,
) -> Result<(DevicePluginClient<Channel>, api::DevicePluginOptions), String> {
    if *shared.answer.borrow() == Answer::NoDial {
        return Err("failed to dial device plugin: context deadline exceeded".to_owned());
    }
    let channel = dial(client.path.clone(), shared.config.dial_timeout, &client.disconnect)
        .await
        .map_err(|error| format!("failed to dial device plugin: {error}"))?;
    let mut plugin = DevicePluginClient::new(channel).max_decoding_message_size(api::MESSAGE_LIMIT);
    // Without a deadline.
    let options = plugin.get_device_plugin_options(api::Empty {}).await;
    let options = options.map_err(|status| format!("failed to get device plugin options: {}", go_text(&status)))?;
    Ok((plugin, options.into_inner()))
}

/// Reads lists until the stream ends, then disconnects whom this kubelet takes for its client.
async fn run(
    shared: &Arc<Shared>,
    alive: &CancellationToken,
    client: &Arc<Client>,
    plugin: DevicePluginClient<Channel>,
) {
    let error = tokio::select! {
        biased;
        () = client.disconnect.cancelled() => CLOSING.to_owned(),
        error = read_lists(shared, client, plugin) => error,
    };
    let version = shared.config.version;
    let mut state = shared.lock();
    let Some(process) = state.process.as_mut().filter(|_| !alive.is_cancelled()) else {
        return;
    };
    let (victim, orphaned) = process.registry.ended(client, version);
    if orphaned && let Some(devices) = state.node.devices.get_mut(&client.resource) {
        devices.all_unhealthy();
    }
    shared.events.push(Event::StreamEnded {
        resource: client.resource.clone(),
        endpoint: client.endpoint.clone(),
        error,
    });
    drop(state);
    if let Some(victim) = victim {
        victim.disconnect.cancel();
    }
}

async fn read_lists(shared: &Shared, client: &Arc<Client>, mut plugin: DevicePluginClient<Channel>) -> String {
    let mut stream = match plugin.list_and_watch(api::Empty {}).await {
        Ok(stream) => stream.into_inner(),
        Err(status) => return go_text(&status),
    };
    loop {
        let pace = *shared.pace.borrow();
        // Even a sleep of nothing is a turn of the clock, and an end would be read late.
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        match stream.message().await {
            Ok(Some(list)) => take_list(shared, client, &list),
            Ok(None) => return "EOF".to_owned(),
            Err(status) => return go_text(&status),
        }
    }
}

fn take_list(shared: &Shared, client: &Arc<Client>, list: &api::ListAndWatchResponse) {
    let devices = Devices::from_list(list);
    let event = Event::List {
        resource: client.resource.clone(),
        healthy: devices.healthy.len(),
        unhealthy: devices.unhealthy.len(),
    };
    let mut state = shared.lock();
    let counts = state.process.as_ref().is_some_and(|p| p.registry.listens_to(client, shared.config.version));
    if counts {
        state.node.devices.insert(client.resource.clone(), devices);
        state.node.advertise();
        shared.save(&state);
    }
    shared.events.push(event);
}

/// Acts on the process that `alive` belongs to.
///
/// # Errors
/// When it has ended, even if there is another by now.
fn with_process<T>(
    shared: &Shared,
    alive: &CancellationToken,
    act: impl FnOnce(&mut super::Process) -> T,
) -> Result<T, String> {
    shared
        .lock()
        .process
        .as_mut()
        .filter(|_| !alive.is_cancelled())
        .map(act)
        .ok_or_else(|| "kubelet stopped".to_owned())
}
