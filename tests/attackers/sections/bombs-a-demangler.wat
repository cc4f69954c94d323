;; tries: to have the host write out a name of C++ that stands for more than there is memory
;; stopped by: names are not read
;; reads: enumerate trapped: wasm `unreachable` instruction executed at
;; wins: has 400 MiB
;; off: none, because the programs do not link what would write it out
(func $_Z1fSt4pairIiiES_IS0_S0_S0_S0_S0_S0_S0_S0_ES_IS1_S1_S1_S1_S1_S1_S1_S1_ES_IS2_S2_S2_S2_S2_S2_S2_S2_ES_IS3_S3_S3_S3_S3_S3_S3_S3_ES_IS4_S4_S4_S4_S4_S4_S4_S4_ES_IS5_S5_S5_S5_S5_S5_S5_S5_ES_IS6_S6_S6_S6_S6_S6_S6_S6_ES_IS7_S7_S7_S7_S7_S7_S7_S7_ES_IS8_S8_S8_S8_S8_S8_S8_S8_ES_IS9_S9_S9_S9_S9_S9_S9_S9_E (unreachable))
(enumerate (call $_Z1fSt4pairIiiES_IS0_S0_S0_S0_S0_S0_S0_S0_ES_IS1_S1_S1_S1_S1_S1_S1_S1_ES_IS2_S2_S2_S2_S2_S2_S2_S2_ES_IS3_S3_S3_S3_S3_S3_S3_S3_ES_IS4_S4_S4_S4_S4_S4_S4_S4_ES_IS5_S5_S5_S5_S5_S5_S5_S5_ES_IS6_S6_S6_S6_S6_S6_S6_S6_ES_IS7_S7_S7_S7_S7_S7_S7_S7_ES_IS8_S8_S8_S8_S8_S8_S8_S8_ES_IS9_S9_S9_S9_S9_S9_S9_S9_E) (call $one))
