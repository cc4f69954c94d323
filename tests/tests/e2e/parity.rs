//! `guests/PARITY.md`: what it says is kept has tests, and what it says is missing a thread where users ask for it.

use crate::new_project::repository;
use crate::threats::all_tests;

#[test]
fn what_is_kept_has_tests_that_exist_and_what_is_missing_has_a_thread() -> anyhow::Result<()> {
    let (page, tests) = (std::fs::read_to_string(repository().join("guests/PARITY.md"))?, all_tests()?);
    let (mut kept, mut missing, mut wrong) = (0, 0, Vec::new());
    for row in page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| theirs") && !line.starts_with("| ---"))
    {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [theirs, state, to_know, held] = cells[..] else { panic!("not four cells: {row}") };
        let named: Vec<_> = held.split('`').skip(1).step_by(2).collect();
        let is_right = match state {
            "kept" => !named.is_empty() && named.iter().all(|name| tests.contains(*name)),
            "missing" => held.starts_with("https://github.com/") && !to_know.is_empty(),
            "otherwise" => held.is_empty() && !to_know.is_empty(),
            _ => false,
        };
        kept += usize::from(state == "kept");
        missing += usize::from(state == "missing");
        if !is_right {
            wrong.push(format!("{theirs}: {state}: {held}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(kept > 60 && missing > 20, "{kept} kept, {missing} missing");
    Ok(())
}
