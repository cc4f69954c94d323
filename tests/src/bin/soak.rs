//! Hours of the kubelet from hell, for a seed, a range of its steps, or a plan in a file.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "it says how it goes")]

use anyhow::Context;
use clap::Parser;
use devgate_fake_kubelet::KubeletVersion;
use devgate_tests::chaos::{Mix, Options, Plan, run};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Restarts, wipes, cuts, kills and confuses, and looks after each calm that nothing is broken, leaked or given twice.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask soak --")]
struct Args {
    /// The seed of the plan [default: another one each time; it is printed]
    #[arg(long, env = "DEVGATE_CHAOS_SEED", conflicts_with = "plan")]
    seed: Option<u64>,

    /// A plan in a file instead, as this command writes it; lines that begin with # are left out
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// Only these steps: FROM..TO, both included; the first is 1
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    steps: Option<RangeInclusive<usize>>,

    /// How long: 90s, 15m, 2h
    #[arg(long = "for", value_name = "TIME", default_value = "2h", value_parser = time)]
    time: Duration,

    /// Plans with a calm every few steps, as the tests use them
    #[arg(long)]
    short: bool,

    /// The kubelet that is played: the 36 of 1.36. From 37 on it tells two plugins of one resource apart
    #[arg(long, value_name = "MINOR", default_value_t = 36, value_parser = clap::value_parser!(u32).range(26..=37))]
    kubelet: u32,

    /// Where the steps are written as they are taken
    #[arg(long, value_name = "FILE", default_value = "soak.plan")]
    record: PathBuf,
}

fn range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (from, to) = text.split_once("..").ok_or("not FROM..TO")?;
    let end = |text: &str, default| match text {
        "" => Ok(default),
        text => text.parse().map_err(|_| format!("`{text}` is no number")),
    };
    Ok(end(from, 1)?..=end(to, usize::MAX)?)
}

fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text.strip_prefix(digits) {
        Some("s") => 1,
        Some("m") => 60,
        Some("h") => 3_600,
        _ => return Err("not a number with s, m or h".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number with s, m or h".to_owned())?;
    Ok(Duration::from_secs(number.saturating_mul(factor)))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mix = if args.short { Mix::Short } else { Mix::Long };
    let (plan, what) = match &args.plan {
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            (Plan::of_text(&text).with_context(|| file.display().to_string())?, file.display().to_string())
        }
        None => {
            let seed = args.seed.unwrap_or_else(new_seed);
            (Plan::of_seed(seed, mix), format!("seed {seed}"))
        }
    };
    println!(
        "{what}, {mix:?} plan, kubelet 1.{}, for {:?}; steps go to {}",
        args.kubelet,
        args.time,
        args.record.display()
    );
    let mut record = std::fs::File::create(&args.record).with_context(|| args.record.display().to_string())?;
    writeln!(record, "# {what}, {mix:?}, kubelet 1.{}", args.kubelet)?;
    let options = Options {
        version: KubeletVersion::minor(args.kubelet),
        steps: args.steps.unwrap_or(1..=usize::MAX),
        time: args.time,
        told: Box::new(move |n, step| {
            // A plan that cannot be written is no reason to end.
            let _ = writeln!(record, "{n:>6} |{step}");
        }),
        progress: Box::new(|line| println!("{line}")),
    };
    tokio::select! {
        report = run(plan, options) => match report {
            Ok(report) => {
                println!("\nnothing is broken\n{report}");
                Ok(())
            }
            Err(broken) => {
                println!("\nBROKEN: {what}, {mix:?}, kubelet 1.{}: {broken}", args.kubelet);
                println!("the same steps again: --plan {}, cut as you like; or --steps FROM..TO", args.record.display());
                std::process::exit(1)
            }
        },
        // Hosts are killed when they are dropped.
        _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
    }
}

/// Another one each time, short enough to be typed.
fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos()) ^ (since.as_secs() & 0xffff_ffff)
}
