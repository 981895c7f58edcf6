//! Tests of views: what they are cut into, against a plain model that looks at each byte.

use super::*;

/// Numbers drawn from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn byte() -> Datatype {
    Datatype::predefined(MPI_BYTE).unwrap().clone()
}

fn view(displacement: u64, filetype: &Datatype) -> Result<View> {
    View::new(displacement, byte(), filetype.clone(), Representation::Native, true)
}

#[test]
fn what_no_view_can_be_made_of_is_refused() {
    let backwards = Datatype::hindexed(&[1, 1], &[8, 0], &byte()).unwrap();
    let negative = Datatype::hindexed(&[1], &[-8], &byte()).unwrap();
    let doubled = Datatype::hindexed(&[4, 4], &[0, 2], &byte()).unwrap();
    for wrong in [&backwards, &negative, &doubled] {
        assert_eq!(view(0, wrong).err().unwrap().class, MPI_ERR_TYPE);
    }
    assert!(View::new(0, byte(), doubled, Representation::Native, false).is_ok(), "it is only read");
    let int = Datatype::predefined(MPI_INT).unwrap().clone();
    let six = Datatype::contiguous(6, &byte()).unwrap();
    assert!(View::new(0, int, six, Representation::Native, true).is_err());
    let none = Datatype::contiguous(0, &byte()).unwrap();
    let empty = view(7, &none).unwrap();
    assert!(empty.pieces(0, 0).unwrap().next().is_none() && empty.pieces(0, 1).is_none());
    assert!(View::new(0, none.clone(), none, Representation::Native, true).is_err());
}

#[test]
fn of_instances_that_would_overlap_only_the_first_can_be_used() {
    for extent in [0, 3] {
        let data = Datatype::hindexed(&[2, 2], &[1, 5], &byte()).unwrap();
        let once = view(10, &Datatype::resized(0, extent, &data).unwrap()).unwrap();
        assert_eq!(once.pieces(1, 3).unwrap().collect::<Vec<_>>(), [(12, 1), (15, 2)]);
        assert!(once.pieces(1, 4).is_none() && once.pieces(4, 0).unwrap().next().is_none());
        assert_eq!(once.bytes_before(16), 3);
    }
}

#[test]
fn dense_data_is_one_piece_however_long() {
    let dense = view(100, &Datatype::contiguous(8, &byte()).unwrap()).unwrap();
    assert_eq!(dense.pieces(3, 1 << 40).unwrap().collect::<Vec<_>>(), [(103, 1 << 40)]);
    assert!(dense.pieces(0, i64::MAX as u64).is_none());
    assert_eq!(dense.bytes_before(90), 0);
    assert_eq!(dense.bytes_before(117), 17);
}

#[test]
fn pieces_are_those_of_a_plain_model() {
    for seed in weft_trials::seeds(400) {
        let mut random = Random(seed);
        let (mut lengths, mut starts, mut at) = (Vec::new(), Vec::new(), random.below(9) as i64);
        for _ in 0..1 + random.below(5) {
            let length = 1 + random.below(6) as i64;
            lengths.push(length);
            starts.push(at);
            at += length + random.below(4) as i64;
        }
        let data = Datatype::hindexed(&lengths, &starts, &byte()).unwrap();
        let extent = at - starts[0] + random.below(5) as i64;
        let filetype = Datatype::resized(0, extent, &data).unwrap();
        let displacement = random.below(50);
        let view = view(displacement, &filetype).unwrap();
        // Where each byte of data lies.
        let mut places = Vec::new();
        for instance in 0..6 {
            for (length, start) in lengths.iter().zip(&starts) {
                let first = displacement + (instance * extent + start) as u64;
                places.extend(first..first + *length as u64);
            }
        }
        let position = random.below(places.len() as u64);
        let length = random.below(places.len() as u64 - position + 1);
        let pieces: Vec<_> = view.pieces(position, length).unwrap().collect();
        let cut: Vec<u64> = pieces.iter().flat_map(|&(start, length)| start..start + length).collect();
        assert_eq!(cut, places[position as usize..(position + length) as usize], "seed {seed}");
        assert!(pieces.windows(2).all(|pair| pair[0].0 + pair[0].1 < pair[1].0), "seed {seed}: {pieces:?}");
        assert_eq!(view.offset(position), Some(places[position as usize]), "seed {seed}");
        let offset = random.below(*places.last().unwrap());
        let before = places.iter().filter(|&&place| place < offset).count() as u64;
        assert_eq!(view.bytes_before(offset), before, "seed {seed}: before {offset}");
    }
}

#[test]
fn behind_the_only_instance_there_is_no_data() {
    let pair = Datatype::hindexed(&[2, 2], &[0, 8], &byte()).unwrap();
    let short = view(10, &Datatype::resized(0, 4, &pair).unwrap()).unwrap();
    let before = |offset| short.bytes_before(offset);
    assert_eq!([before(10), before(11), before(15), before(19), before(20), before(500)], [0, 1, 2, 3, 4, 4]);
}
