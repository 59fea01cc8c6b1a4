use fastrand::Rng;

use super::{Errno, Event, FileId, Image, Loss, Recorder, Replay};

const FILE: &str = "file";

/// All images that lots may leave at the end of what `recorder` saw.
fn images(recorder: &Recorder) -> Vec<Image> {
    let trace = recorder.trace();
    let mut replay = Replay::new(&trace);
    replay.advance(trace.events().len());
    let seeds = 0..100;
    let drawn = |loss| {
        let replay = &replay;
        seeds.clone().map(move |seed| replay.image(loss, &mut Rng::with_seed(seed)))
    };
    Loss::ALL.into_iter().flat_map(drawn).collect()
}

/// A recorder with a file that is there for certain.
fn with_file(bytes: &[u8]) -> (Recorder, FileId) {
    let image = Image { files: [(FILE.to_owned(), bytes.to_vec())].into() };
    let recorder = Recorder::new(image);
    let file = recorder.open(FILE);
    (recorder, file)
}

fn sync(recorder: &Recorder, file: FileId) {
    recorder.sync(file, || Ok::<_, ()>(())).unwrap();
}

fn sync_folder(recorder: &Recorder) {
    recorder.sync_folder(|| Ok::<_, ()>(())).unwrap();
}

#[test]
fn what_was_synced_is_there_whatever_is_lost() {
    let (recorder, file) = with_file(b"");
    recorder.write(file, 0, &[1; 2_000]);
    recorder.set_len(file, 1_500);
    sync(&recorder, file);
    recorder.write(file, 1_500, &[2; 2_000]);
    for image in images(&recorder) {
        assert_eq!(image.files[FILE][..1_500], [1; 1_500]);
    }
}

#[test]
fn what_was_not_synced_is_there_by_any_part() {
    let (recorder, file) = with_file(&[0; 1_024]);
    recorder.write(file, 0, &[1; 1_024]);
    recorder.write(file, 512, &[2; 512]);
    let images = images(&recorder);
    for first in 0..=1 {
        for second in 0..=2 {
            let bytes = [[first; 512], [second; 512]].concat();
            assert!(images.iter().any(|image| image.files[FILE] == bytes), "{first} {second}");
        }
    }
    assert!(images.iter().all(|image| {
        let sectors = image.files[FILE].chunks(512);
        sectors.clone().count() == 2 && sectors.clone().all(|s| s.iter().all(|b| *b == s[0]))
    }));
}

#[test]
fn a_size_may_be_there_without_its_data() {
    let (recorder, file) = with_file(&[1; 512]);
    recorder.write(file, 512, &[2; 512]);
    let images = images(&recorder);
    let ends = |end: &[u8]| images.iter().any(|image| image.files[FILE][512..] == *end);
    assert!(ends(&[]) && ends(&[0; 512]) && ends(&[2; 512]));
}

#[test]
fn a_name_is_certain_only_when_its_folder_was_synced() {
    let recorder = Recorder::new(Image::default());
    let file = recorder.open(FILE);
    sync(&recorder, file);
    assert!(images(&recorder).iter().any(|image| image.files.is_empty()));
    sync_folder(&recorder);
    assert!(images(&recorder).iter().all(|image| image.files.contains_key(FILE)));
    recorder.rename(FILE, "other");
    recorder.delete("other");
    let images = images(&recorder);
    for names in [&[][..], &[FILE], &["other"]] {
        assert!(images.iter().any(|image| image.files.keys().eq(names)), "{names:?}");
    }
}

#[test]
fn a_new_file_of_an_old_name_is_another() {
    let (recorder, _) = with_file(b"old");
    recorder.delete(FILE);
    let file = recorder.open(FILE);
    recorder.write(file, 0, b"new");
    sync(&recorder, file);
    let images = images(&recorder);
    for bytes in [None, Some(b"old"), Some(b"new")] {
        let bytes = bytes.map(|bytes| bytes.to_vec());
        assert!(images.iter().any(|image| image.files.get(FILE) == bytes.as_ref()), "{bytes:?}");
    }
}

/// What is written while a sync runs is not covered by it.
#[test]
fn a_sync_covers_what_was_before_it() {
    let (recorder, file) = with_file(&[0; 2]);
    recorder.write(file, 0, &[1]);
    let write = || {
        recorder.write(file, 1, &[1]);
        Ok::<_, ()>(())
    };
    recorder.sync(file, write).unwrap();
    let images = images(&recorder);
    assert!(images.iter().all(|image| image.files[FILE][0] == 1));
    assert!(images.iter().any(|image| image.files[FILE][1] == 0));
}

/// A write that a failed sync was for is not made good by the next, but by being written again.
#[test]
fn a_failed_sync_forgets() {
    let (recorder, file) = with_file(&[0; 1_024]);
    recorder.write(file, 0, &[1; 1_024]);
    recorder.sync(file, || Err::<(), _>(())).unwrap_err();
    recorder.write(file, 512, &[2; 512]);
    sync(&recorder, file);
    let images = images(&recorder);
    assert!(images.iter().all(|image| image.files[FILE][512..] == [2; 512]));
    for first in 0..=1 {
        assert!(images.iter().any(|image| image.files[FILE][..512] == [first; 512]), "{first}");
    }
}

#[test]
fn a_disk_that_lies_keeps_nothing_for_certain() {
    let recorder = Recorder::new(Image::default()).lying();
    let file = recorder.open(FILE);
    recorder.write(file, 0, b"lost");
    sync(&recorder, file);
    sync_folder(&recorder);
    assert!(images(&recorder).iter().any(|image| image.files.is_empty()));
}

#[test]
fn one_call_fails_and_no_other() {
    let recorder = Recorder::new(Image::default()).failing(1, Errno::Io);
    let calls = [super::Call::Open, super::Call::Sync, super::Call::Sync];
    let answers = calls.map(|call| recorder.call(call));
    assert_eq!(answers, [Ok(()), Err(Errno::Io), Ok(())]);
    assert_eq!(recorder.calls(), calls);
}

#[test]
fn power_can_be_cut_before_each_thing_that_is_done() {
    let (recorder, file) = with_file(b"");
    recorder.mark(super::Mark::Started(1));
    recorder.write(file, 0, b"1");
    sync(&recorder, file);
    recorder.mark(super::Mark::Acknowledged(1));
    let trace = recorder.trace();
    assert_eq!(trace.crash_points(), [1, 2, 4]);
    assert!(matches!(trace.events()[2], Event::Sync { until: 2, .. }));
    assert_eq!(trace.marks(2).count(), 1);
}
