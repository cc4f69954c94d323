//! What can be done, one line of text each, so that a plan can be read, cut and changed by hand.

use anyhow::{Context, bail};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A pause, and what is done after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// How long nothing is done before.
    pub pause: Duration,
    /// What is done then.
    pub(super) act: Act,
}

/// What is done. Kinds of devices are named by their number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// Stops the kubelet and starts it, which wipes its directory.
    Restart,
    /// So many restarts, with so many milliseconds between.
    Flap(u32, u64),
    /// The kubelet dies; its socket stays and refuses connections.
    Crash,
    /// The kubelet ends and takes its socket away.
    Stop,
    /// The kubelet starts, after its end if it runs.
    Start,
    /// `kubelet.sock` is made anew in the same process.
    Resocket,
    /// The kubelet forgets its checkpoint and restarts.
    Forget,
    /// What becomes of `Register` from now on.
    Answer(Word),
    /// The kubelet waits so many milliseconds before it reads each list.
    Slow(u64),
    /// The kubelet ends its streams for this kind.
    Cut(u32),
    /// The host's sockets for this kind are deleted.
    Unlink(u32),
    /// All sockets but the kubelet's are deleted.
    Wipe,
    /// The kubelet's directory is deleted with the kubelet stopped, and made anew by its start.
    Rebuild,
    /// A pod asks for devices: kind and count of each.
    Admit(Vec<(u32, usize)>),
    /// The pod of this place among those that run, modulo their number, goes.
    Remove(usize),
    /// Its container starts again.
    Again(usize),
    /// This device leaves the node.
    Gone(u32, u32),
    /// All devices are there again.
    Back,
    /// The host is killed, and started so many milliseconds later.
    Kill(u64),
    /// The host is asked to end, waited for, and started again.
    Terminate,
    /// As `Kill`, where inotify has no room for the new one.
    Blind(u64),
    /// The host stands still for so many milliseconds, as in a virtual machine that is suspended: its clock jumps.
    Freeze(u64),
    /// The host stands still; more happens in the directory than inotify remembers, a restart of the kubelet last.
    Flood,
    /// The modification times of all sockets are of another century.
    Clock,
    /// So many strangers connect to each of the host's sockets, say nothing, nonsense or too much, and stay for a moment.
    Strangers(u32),
    /// A second host starts on the same directories.
    Second,
    /// The second host leaves: killed, or asked.
    SecondLeaves(bool),
    /// The first host leaves, killed or asked, and the second is the first now.
    Handover(bool),
    /// The host is killed, the kubelet stopped, and all starts again; with the names of devices given to others where this says
    /// so. The kubelet admits its pods again.
    Reboot(bool),
    /// Everything that was made difficult is undone, all is waited for, and looked at.
    Calm,
}

/// What the kubelet says to `Register`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Real,
    Hang,
    Refuse,
    Late,
    HangUp,
    NoDial,
}

const WORDS: [(Word, &str); 6] = [
    (Word::Real, "real"),
    (Word::Hang, "hang"),
    (Word::Refuse, "refuse"),
    (Word::Late, "late"),
    (Word::HangUp, "hang-up"),
    (Word::NoDial, "no-dial"),
];

fn how(killed: bool) -> &'static str {
    if killed { "killed" } else { "asked" }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restart => f.write_str("kubelet-restart"),
            Self::Flap(times, pause) => write!(f, "kubelet-flap {times} {pause}"),
            Self::Crash => f.write_str("kubelet-crash"),
            Self::Stop => f.write_str("kubelet-stop"),
            Self::Start => f.write_str("kubelet-start"),
            Self::Resocket => f.write_str("kubelet-resocket"),
            Self::Forget => f.write_str("kubelet-forget"),
            Self::Answer(word) => {
                let text = WORDS.iter().find(|(known, _)| known == word).map_or("", |(_, text)| text);
                write!(f, "kubelet-answer {text}")
            }
            Self::Slow(pace) => write!(f, "kubelet-slow {pace}"),
            Self::Cut(kind) => write!(f, "cut {kind}"),
            Self::Unlink(kind) => write!(f, "unlink {kind}"),
            Self::Wipe => f.write_str("wipe"),
            Self::Rebuild => f.write_str("rebuild"),
            Self::Admit(wanted) => {
                f.write_str("admit")?;
                wanted.iter().try_for_each(|(kind, count)| write!(f, " {kind}:{count}"))
            }
            Self::Remove(pod) => write!(f, "remove {pod}"),
            Self::Again(pod) => write!(f, "again {pod}"),
            Self::Gone(kind, device) => write!(f, "gone {kind} {device}"),
            Self::Back => f.write_str("back"),
            Self::Kill(pause) => write!(f, "host-kill {pause}"),
            Self::Terminate => f.write_str("host-terminate"),
            Self::Blind(pause) => write!(f, "host-blind {pause}"),
            Self::Freeze(time) => write!(f, "host-freeze {time}"),
            Self::Flood => f.write_str("host-flood"),
            Self::Clock => f.write_str("clock"),
            Self::Strangers(count) => write!(f, "strangers {count}"),
            Self::Second => f.write_str("second"),
            Self::SecondLeaves(killed) => write!(f, "second-leaves {}", how(*killed)),
            Self::Handover(killed) => write!(f, "handover {}", how(*killed)),
            Self::Reboot(renumbered) => {
                write!(f, "reboot {}", if *renumbered { "renumbered" } else { "same" })
            }
            Self::Calm => f.write_str("calm"),
        }
    }
}

impl FromStr for Act {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut words = text.split_whitespace();
        let name = words.next().context("a step needs a word")?;
        let words: Vec<&str> = words.collect();
        let word = |n: usize| words.get(n).copied().with_context(|| format!("`{text}` ends too early"));
        let number = |n: usize| -> anyhow::Result<u64> { Ok(word(n)?.parse()?) };
        let small = |n: usize| -> anyhow::Result<u32> { Ok(word(n)?.parse()?) };
        let place = |n: usize| -> anyhow::Result<usize> { Ok(word(n)?.parse()?) };
        let choice = |yes: &str, no: &str| match word(0)? {
            word if word == yes => Ok(true),
            word if word == no => Ok(false),
            _ => bail!("`{text}`: neither {yes} nor {no}"),
        };
        Ok(match name {
            "kubelet-restart" => Self::Restart,
            "kubelet-flap" => Self::Flap(small(0)?, number(1)?),
            "kubelet-crash" => Self::Crash,
            "kubelet-stop" => Self::Stop,
            "kubelet-start" => Self::Start,
            "kubelet-resocket" => Self::Resocket,
            "kubelet-forget" => Self::Forget,
            "kubelet-answer" => {
                let wanted = word(0)?;
                let known = WORDS.iter().find(|(_, text)| *text == wanted);
                Self::Answer(known.with_context(|| format!("`{text}`: no such answer"))?.0)
            }
            "kubelet-slow" => Self::Slow(number(0)?),
            "cut" => Self::Cut(small(0)?),
            "unlink" => Self::Unlink(small(0)?),
            "wipe" => Self::Wipe,
            "rebuild" => Self::Rebuild,
            "admit" => {
                let pairs = words.iter().map(|pair| {
                    let (kind, count) = pair.split_once(':').with_context(|| format!("`{text}`: not KIND:COUNT"))?;
                    anyhow::Ok((kind.parse()?, count.parse()?))
                });
                Self::Admit(pairs.collect::<anyhow::Result<_>>()?)
            }
            "remove" => Self::Remove(place(0)?),
            "again" => Self::Again(place(0)?),
            "gone" => Self::Gone(small(0)?, small(1)?),
            "back" => Self::Back,
            "host-kill" => Self::Kill(number(0)?),
            "host-terminate" => Self::Terminate,
            "host-blind" => Self::Blind(number(0)?),
            "host-freeze" => Self::Freeze(number(0)?),
            "host-flood" => Self::Flood,
            "clock" => Self::Clock,
            "strangers" => Self::Strangers(small(0)?),
            "second" => Self::Second,
            "second-leaves" => Self::SecondLeaves(choice("killed", "asked")?),
            "handover" => Self::Handover(choice("killed", "asked")?),
            "reboot" => Self::Reboot(choice("renumbered", "same")?),
            "calm" => Self::Calm,
            _ => bail!("`{text}`: no such step"),
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>5} {}", self.pause.as_millis(), self.act)
    }
}

impl FromStr for Step {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (pause, act) = text.trim().split_once(' ').with_context(|| format!("`{text}`: not MILLISECONDS STEP"))?;
        let pause = pause.parse().with_context(|| format!("`{text}`: not MILLISECONDS STEP"))?;
        Ok(Self { pause: Duration::from_millis(pause), act: act.parse()? })
    }
}
