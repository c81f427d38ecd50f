//! The ISO registers of countries, subdivisions, languages, currencies and scripts, kept in a Holdfast store: a tour of
//! the crate on the 13,000 entities of Debian's package iso-codes.
//!
//!     cargo run --features serde --example iso_registers
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, io, process};

use holdfast::{Status, Store};
use serde_json::Value;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Repository, file, the array's name in it, and the member that holds an entry's id.
const REGISTERS: [(&str, &str, &str, &str); 5] = [
    ("countries", "iso_3166-1.json", "3166-1", "alpha_2"),
    ("subdivisions", "iso_3166-2.json", "3166-2", "code"),
    ("languages", "iso_639-3.json", "639-3", "alpha_3"),
    ("currencies", "iso_4217.json", "4217", "alpha_3"),
    ("scripts", "iso_15924.json", "15924", "alpha_4"),
];
const LOAD: usize = 5000;

#[derive(serde::Serialize, serde::Deserialize)]
struct Language {
    alpha_3: String,
    name: String,
    #[serde(rename = "type")]
    kind: String,
}
holdfast::serde_entity!(Language);

/// A register is one transaction, so a reader sees all of it or nothing.
fn import(store: &Store) -> Outcome {
    let mut total = 0;
    for (name, file, array, key) in REGISTERS {
        let file: Value =
            serde_json::from_slice(&fs::read(Path::new("/usr/share/iso-codes/json").join(file))?)?;
        let entries = file[array].as_array().ok_or("no register")?;
        let repository = store.repository(name, &format!(r#"{{"key": "{key}"}}"#))?;
        store.transact(|t| repository.within(t).add_many(&file[array].to_string()))?;
        assert_eq!(repository.count("{}", "")?, entries.len() as u64);
        println!("  {name:<12} {:>5}", entries.len());
        total += entries.len();
    }
    println!("  {total} entities");
    Ok(())
}

fn read_and_update(store: &Store) -> Outcome {
    let countries = store.repository("countries", "")?;
    let iceland = countries.fetch("IS")?.ok_or("no Iceland")?;
    let changed = countries.patch("IS", r#"{"capital":"Reykjavík"}"#, iceland.version)?;
    println!("  {}\n  {}", iceland.json, changed.json);
    // Whoever still thinks of the old version is told so.
    let refused = countries.delete("IS", iceland.version).unwrap_err();
    assert_eq!(refused.status(), Status::VERSION_MISMATCH);

    let languages = store.typed::<Language>("languages", "")?;
    let three = languages.find(r#"{"type": "C"}"#, r#"{"limit": 3}"#)?;
    assert!(three.len() == 3 && three[0].kind == "C");
    let constructed = languages.repository().count(r#"{"type": "C"}"#, "")?;
    println!("  {constructed} constructed languages, the first of them {}", three[0].name);
    Ok(())
}

fn be_refused(store: &Store) -> Outcome {
    let currencies = store.repository("currencies", "")?;
    let total = currencies.count("{}", "")?;
    let transaction = store.begin("")?;
    let inside = currencies.within(&transaction);
    inside.fetch("ISK")?.ok_or("no ISK")?;
    inside.delete("ISK", 0)?;
    inside.add(r#"{"alpha_3":"XIK"}"#)?;
    currencies.patch("ISK", r#"{"digits":0}"#, 0)?; // Somebody else is quicker.
    let refused = transaction.commit().unwrap_err();
    assert!(refused.status() == Status::CONFLICT && refused.is_retryable());
    println!("  {refused}");
    assert!(currencies.contains("ISK")? && currencies.count("{}", "")? == total);
    Ok(())
}

fn visit(store: &Store, number: usize) -> Result<holdfast::Commit, holdfast::Error> {
    let transaction = store.begin("")?;
    let visits = store.repository("visits", "")?;
    visits.within(&transaction).save(&format!(r#"{{"id": {number}, "place": "IS-{}"}}"#, number % 9))?;
    transaction.submit()
}

fn commit_thousands(store: &Store) -> Outcome {
    let commits = (0..LOAD).map(|number| visit(store, number)).collect::<Result<Vec<_>, _>>()?;
    let failed = store.block_on(async {
        let (mut last, mut failed) = (0, 0);
        for commit in commits {
            let sequence = commit.await?.sequence;
            failed += u32::from(sequence <= last);
            last = sequence;
        }
        Ok::<_, holdfast::Error>(failed)
    })?;
    println!("  {LOAD} completed in commit order, {failed} failed");
    assert!(failed == 0 && store.repository("visits", "")?.count("{}", "")? == LOAD as u64);
    Ok(())
}

fn follow(store: &Store) -> Outcome {
    let scripts = store.repository("scripts", "")?;
    let mut live = scripts.live(r#"{"on_duty": true}"#, "")?;
    let patience = Duration::from_secs(30);
    live.next_timeout(patience).ok_or("no snapshot")??;
    scripts.patch("Cyrl", r#"{"seen": 1}"#, 0)?;
    scripts.patch("Latn", r#"{"on_duty": true}"#, 0)?;
    let news = live.next_timeout(patience).ok_or("no news")??;
    assert!(news.json.contains(r#""id":"Latn""#));
    println!("  one script came on duty");
    Ok(())
}

/// The second process: tells each acknowledged commit to its parent.
fn write_until_killed(path: &str) -> Outcome {
    let store = Store::open(path, "")?;
    for first in (LOAD..).step_by(100) {
        let commits: Vec<_> = (first..first + 100).map(|number| visit(&store, number)).collect();
        for (number, commit) in (first..).zip(commits) {
            commit?.wait()?;
            writeln!(io::stdout(), "{number}")?;
        }
    }
    Ok(())
}

fn kill_a_writer(path: &str) -> Outcome {
    let mut writer =
        Command::new(env::current_exe()?).args(["write", path]).stdout(Stdio::piped()).spawn()?;
    let mut acknowledged = Vec::new();
    for line in BufReader::new(writer.stdout.take().ok_or("no pipe")?).lines() {
        acknowledged.push(line?);
        if acknowledged.len() == LOAD {
            writer.kill()?;
        }
    }
    writer.wait()?;
    let visits = Store::open(path, "")?.repository("visits", "")?;
    let mut found = 0;
    for number in &acknowledged {
        found += usize::from(visits.contains(number)?);
    }
    println!("  {} commits were acknowledged before the kill, {found} of them are there", acknowledged.len());
    assert!(found == acknowledged.len() && found >= LOAD);
    Ok(())
}

fn tour(path: &str) -> Outcome {
    let store = Store::open(path, "")?;
    println!("Importing into {path}");
    import(&store)?;
    println!("Reading and updating");
    read_and_update(&store)?;
    println!("A transaction that comes too late is refused, and nothing has changed");
    be_refused(&store)?;
    println!("Thousands of commits at once");
    commit_thousands(&store)?;
    println!("Following a query");
    follow(&store)?;
    drop(store);
    println!("A writer is killed");
    kill_a_writer(path)?;
    assert_eq!(holdfast::handle_count(""), 0);
    println!("Done");
    Ok(())
}

fn main() -> Outcome {
    let arguments: Vec<_> = env::args().collect();
    if let [_, "write", path] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return write_until_killed(path);
    }
    let folder = env::temp_dir().join(format!("iso-registers-{}", process::id()));
    fs::create_dir(&folder)?;
    let toured = tour(&folder.join("registers.db").to_string_lossy());
    fs::remove_dir_all(&folder)?;
    toured
}
