#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| devgate_fuzz::targets::policy::policy(input));
