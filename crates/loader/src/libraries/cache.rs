//! Reads the dynamic linker's cache of library locations (`/etc/ld.so.cache`), format `glibc-ld.so.cache1.1`.

use std::collections::HashMap;
use std::path::PathBuf;

/// Marks the start of the table; older systems put it behind a table of an older format.
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";

/// Holds the flags of an entry for libraries of this kind of machine (`FLAG_ELF_LIBC6` and the machine's).
const WANTED_FLAGS: u32 = if cfg!(target_arch = "aarch64") { 0x0a03 } else { 0x0303 };

/// Reads the system's cache; without one there are no entries.
pub fn read() -> HashMap<String, PathBuf> {
    std::fs::read("/etc/ld.so.cache").map(|bytes| parse(&bytes)).unwrap_or_default()
}

/// Reads entries from the bytes of a cache file; what cannot be understood is left out.
pub fn parse(bytes: &[u8]) -> HashMap<String, PathBuf> {
    let mut found = HashMap::new();
    let Some(start) = bytes.windows(MAGIC.len()).position(|w| w == MAGIC) else { return found };
    let table = &bytes[start..];
    let Some(count) = word(table, 20) else { return found };
    for index in 0..(count as usize).min(table.len() / 24) {
        let entry = 48 + 24 * index;
        let (Some(flags), Some(key), Some(value)) =
            (word(table, entry), word(table, entry + 4), word(table, entry + 8))
        else {
            break;
        };
        // Entries for newer processors name a hardware capability; the plain one is right for everybody.
        let capability = (word(table, entry + 16), word(table, entry + 20));
        if flags != WANTED_FLAGS || capability != (Some(0), Some(0)) {
            continue;
        }
        if let (Some(name), Some(path)) = (text(table, key), text(table, value)) {
            found.entry(name.to_string()).or_insert_with(|| PathBuf::from(path));
        }
    }
    found
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn text(bytes: &[u8], at: u32) -> Option<&str> {
    let rest = bytes.get(at as usize..)?;
    std::str::from_utf8(&rest[..rest.iter().position(|b| *b == 0)?]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_cache_names_libc() {
        let path = std::path::Path::new("/etc/ld.so.cache");
        if path.exists() {
            let libc = read().remove("libc.so.6").expect("an entry for libc.so.6");
            assert!(libc.exists(), "{}", libc.display());
        }
    }

    #[test]
    fn broken_caches_are_empty_not_fatal() {
        assert!(parse(b"").is_empty());
        let mut bytes = MAGIC.to_vec();
        assert!(parse(&bytes).is_empty());
        bytes.extend([0xff; 40]);
        assert!(parse(&bytes).is_empty());
        bytes.extend([0x03, 0x03, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        assert!(parse(&bytes).is_empty());
    }
}
