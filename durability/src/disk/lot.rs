use fastrand::Rng;

use super::{Event, Loss, replay::place};

/// Bytes that are written together or not at all.
pub(crate) const SECTOR: usize = 512;

/// Draws what of the uncertain events is there.
pub(super) struct Lot<'a> {
    loss: Loss,
    events: &'a [Event],
    random: &'a mut Rng,
    /// How likely a single thing is kept.
    chance: f64,
    /// The first event that [`Loss::Earliest`] keeps, and the one that [`Loss::LastTorn`] tears.
    from: Option<usize>,
    last: Option<usize>,
    /// Whether a size without its data shows what lay on the disk before, rather than zeros.
    junk: bool,
}

impl<'a> Lot<'a> {
    /// For the events `uncertain` of `events`, in order.
    pub(super) fn new(
        loss: Loss,
        uncertain: &[usize],
        events: &'a [Event],
        random: &'a mut Rng,
    ) -> Self {
        let (chance, junk) = (random.f64(), random.bool());
        let from = random.choice(uncertain).copied();
        Self { loss, events, chance, junk, from, last: uncertain.last().copied(), random }
    }

    fn drawn(&mut self) -> bool {
        self.random.f64() < self.chance
    }

    /// Whether an event that is not torn is there.
    pub(super) fn keeps(&mut self, event: usize) -> bool {
        match self.loss {
            Loss::Everything => false,
            Loss::Nothing => true,
            Loss::Writes | Loss::Sectors | Loss::Appended => self.drawn(),
            Loss::LastTorn => self.last != Some(event) || self.random.bool(),
            Loss::Earliest => self.from.is_some_and(|from| from <= event),
        }
    }

    /// Does to a file what is there of an event. The file's certain data ends at `data_end`.
    pub(super) fn apply(&mut self, file: &mut Vec<u8>, data_end: usize, event: usize) {
        match &self.events[event] {
            Event::SetLen { len, .. } if self.loss == Loss::Appended || self.keeps(event) => {
                file.resize(place(*len), 0);
            }
            Event::Write { offset, bytes, .. } => {
                let torn = match self.loss {
                    Loss::Sectors | Loss::Appended => true,
                    Loss::LastTorn => self.last == Some(event),
                    _ => false,
                };
                if torn {
                    self.tear(file, data_end, place(*offset), bytes);
                } else if self.keeps(event) {
                    put(file, place(*offset), bytes);
                }
            }
            _ => {}
        }
    }

    /// Writes `bytes` at `start` sector by sector, as far as they are there.
    fn tear(&mut self, file: &mut Vec<u8>, data_end: usize, start: usize, bytes: &[u8]) {
        let end = start + bytes.len();
        let has_size = self.loss == Loss::Appended || self.random.bool();
        if has_size && file.len() < end {
            file.resize(end, 0);
        }
        let mut from = start;
        while from < end {
            let to = end.min((from / SECTOR + 1) * SECTOR);
            let is_new = from >= data_end;
            let lost = self.loss == Loss::Appended && is_new;
            if !lost && self.drawn() {
                put(file, from, &bytes[from - start..to - start]);
            } else if is_new && self.junk && to <= file.len() {
                self.fill_with_junk(&mut file[from..to]);
            }
            from = to;
        }
    }

    /// What is in a file that was changed unseen is anything.
    pub(super) fn scribble(&mut self, file: &mut [u8]) {
        if self.junk {
            self.random.fill(file);
        }
    }

    /// What lay there before is a piece of what was written to any file.
    fn fill_with_junk(&mut self, sector: &mut [u8]) {
        let event = &self.events[self.random.usize(..self.events.len())];
        if let Event::Write { bytes, .. } = event {
            let piece = bytes.chunks(sector.len()).nth(self.random.usize(..8));
            if let Some(piece) = piece {
                sector[..piece.len()].copy_from_slice(piece);
            }
        }
    }
}

/// Writes all of `bytes` at `start`.
pub(super) fn put(file: &mut Vec<u8>, start: usize, bytes: &[u8]) {
    let end = start + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[start..end].copy_from_slice(bytes);
}
