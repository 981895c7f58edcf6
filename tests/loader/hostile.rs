//! Broken and hostile files: whatever the bytes, there is an answer, never a panic.

mod workshop;

use weft_loader::check_bytes;
use workshop::Workshop;

/// Draws numbers from a seed (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below.max(1)
    }
}

/// Takes the seed from the environment or the clock, and prints it.
fn seed() -> u64 {
    let given = std::env::var("WEFT_TEST_SEED").ok().and_then(|s| s.parse().ok());
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    let seed = given.unwrap_or(clock.as_nanos() as u64 | 1);
    println!("WEFT_TEST_SEED={seed}");
    seed
}

/// Values that tables like to go wrong at.
const BAD: &[u64] =
    &[0, 1, 7, 0xfff, 0x1000, 0x7fff_ffff, 0xffff_ffff, 1 << 46, i64::MAX as u64, u64::MAX, u64::MAX - 7];

#[test]
fn changed_programs_give_an_answer() {
    let shop = Workshop::new("hostile");
    shop.write("versions", "V1 { global: *; };");
    shop.library("libuser.so", "int user(void) { return 0; }", &["-Wl,--version-script,versions"]);
    let source = "#include <cstdio>\ninline int counter; int user(void) asm(\"user\");\nstruct S { S() { counter++; } } s;
        int main() { std::printf(\"%d\", user() + weft_rank()); }";
    let flags = ["-L.", "-l:libuser.so", "-rdynamic", "-std=c++17"];
    let originals = [
        std::fs::read(shop.program_cxx("plain", source, &flags)).expect("a program"),
        std::fs::read(shop.program_cxx(
            "together",
            source,
            &[&flags[..], &["-Wl,-z,noseparate-code"]].concat(),
        ))
        .expect("a program"),
    ];
    for original in &originals {
        check_bytes(original).expect("the original is right");
    }
    // Where the linker's tables are: a change elsewhere changes nothing we look at.
    let places: Vec<Vec<usize>> = originals.iter().map(|bytes| interesting(bytes)).collect();
    let mut random = Random(seed());
    let (mut refused, mut accepted) = (0, 0);
    for _ in 0..20_000 {
        let which = random.next(originals.len());
        let mut bytes = originals[which].clone();
        for _ in 0..1 + random.next(4) {
            let table = places[which][random.next(places[which].len())];
            let at = (table + random.next(24)).min(bytes.len() - 8);
            match random.next(4) {
                0 => bytes[at] = random.next(256) as u8,
                1 => bytes[at..at + 8].copy_from_slice(&BAD[random.next(BAD.len())].to_le_bytes()),
                2 => bytes[at..at + 4].copy_from_slice(&(random.next(1 << 20) as u32).to_le_bytes()),
                _ => bytes[at] ^= 1 << random.next(8),
            }
        }
        if random.next(20) == 0 {
            bytes.truncate(random.next(bytes.len()));
        }
        match check_bytes(&bytes) {
            Ok(()) => accepted += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 100 && accepted > 100, "{refused} refused, {accepted} accepted");
}

/// Lists offsets of headers, dynamic entries and the tables they point to.
fn interesting(bytes: &[u8]) -> Vec<usize> {
    let image = weft_loader::image::Image::parse(bytes).expect("an image");
    let mut places: Vec<usize> = (0..64).step_by(8).collect();
    places.extend((0..image.segments.len() * 56).step_by(8).map(|at| image.headers_offset as usize + at));
    for entry in &image.dynamic {
        places.push(entry.offset as usize);
        if let Some(table) = image.offset_of(entry.value, 1) {
            places.extend((0..8).map(|k| table as usize + 16 * k));
        }
    }
    places
}

#[test]
fn random_bytes_behind_a_right_header_give_an_answer() {
    let mut random = Random(seed());
    for _ in 0..5_000 {
        let length = 64 + random.next(4096);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next(256) as u8).collect();
        bytes[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x00");
        bytes[16..18].copy_from_slice(&3u16.to_le_bytes());
        bytes[18..20].copy_from_slice(&weft_loader::image::HOST_MACHINE.to_le_bytes());
        bytes[32..40].copy_from_slice(&64u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&(random.next(9) as u16).to_le_bytes());
        for header in (64..length.saturating_sub(56)).step_by(56) {
            bytes[header..header + 4].copy_from_slice(&(1 + random.next(3) as u32).to_le_bytes());
            for field in (8..56).step_by(8) {
                let value =
                    if random.next(9) == 0 { BAD[random.next(BAD.len())] } else { random.next(8192) as u64 };
                bytes[header + field..header + field + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
        let _ = check_bytes(&bytes);
    }
}
