//! Samples of the program counter, in the form of Go's own CPU profile: `samples/count` and `cpu/nanoseconds`.

use super::profile::{Profile, Sample, ValueType};
use super::{Builder, Frame, compressed};

/// A stack that was sampled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sampled {
    /// Innermost frame first.
    pub stack: Vec<Frame>,
    /// How often.
    pub count: u64,
}

/// The profile as a file, as [`encode`](super::encode) makes it. `period_ns` is the CPU time that a sample stands for.
pub fn encode_samples(
    program: &str,
    stacks: &[Sampled],
    started: u64,
    seconds: f64,
    period_ns: u64,
) -> Vec<u8> {
    let mut builder = Builder::new(program);
    let samples = ValueType { r#type: builder.text("samples"), unit: builder.text("count") };
    let cpu = ValueType { r#type: builder.text("cpu"), unit: builder.text("nanoseconds") };
    let sample = |sampled: &Sampled| Sample {
        location_id: sampled.stack.iter().map(|frame| builder.location(frame)).collect(),
        value: [sampled.count, sampled.count.saturating_mul(period_ns)].map(|n| n as i64).into(),
        label: Vec::new(),
    };
    let sample = stacks.iter().map(sample).collect();
    compressed(&Profile {
        sample_type: vec![samples, cpu],
        sample,
        time_nanos: started as i64,
        duration_nanos: (seconds * 1e9) as i64,
        period_type: Some(cpu),
        period: period_ns as i64,
        default_sample_type: cpu.r#type,
        ..builder.profile
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use prost::Message;
    use std::io::Read;

    #[test]
    fn decoded_samples_equal_the_input() {
        let frame = |function: &str| Frame { function: function.into(), ..Frame::default() };
        let stacks = [
            Sampled { stack: vec![frame("leaf"), frame("main")], count: 3 },
            Sampled { stack: vec![frame("main")], count: 1 },
        ];
        let mut bytes = Vec::new();
        let file = encode_samples("./program", &stacks, 5, 2.0, 1_003_009);
        GzDecoder::new(&file[..]).read_to_end(&mut bytes).unwrap();
        let profile = Profile::decode(&bytes[..]).unwrap();
        let text = |number: i64| profile.string_table[number as usize].as_str();
        let types: Vec<_> = profile.sample_type.iter().map(|t| (text(t.r#type), text(t.unit))).collect();
        assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
        assert_eq!((profile.period, text(profile.default_sample_type)), (1_003_009, "cpu"));
        let values: Vec<&[i64]> = profile.sample.iter().map(|sample| &sample.value[..]).collect();
        assert_eq!(values, [[3, 3_009_027], [1, 1_003_009]]);
        assert_eq!(profile.sample[0].location_id.len(), 2);
        assert_eq!(profile.sample[0].location_id[1], profile.sample[1].location_id[0], "main is one place");
    }
}
