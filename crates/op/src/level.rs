//! Which vector instructions the kernels use: each loop exists once per level, and the processor decides at the first use.
//!
//! All levels give the same bits: elements are computed one by one, without reassociation or fused operations.

use weft_base::settings::SIMD;

/// A set of instructions. Each includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// What every processor of the target has: SSE2 on x86-64, NEON on AArch64.
    Baseline,
    /// AVX2 and the conversion of half precision.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL).
    Avx512,
}

impl Level {
    /// The words of the setting, after `auto`, in order.
    const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// Tells whether this processor has the instructions.
    fn is_there(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let there = match self {
            Self::Baseline => true,
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c"),
            Self::Avx512 => {
                Self::Avx2.is_there()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
        };
        #[cfg(not(target_arch = "x86_64"))]
        let there = self == Self::Baseline;
        there
    }

    /// Lists the levels of this processor.
    #[cfg(test)]
    pub fn here() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|level| level.is_there())
    }

    /// Returns the level to use: the highest there is, or the highest up to the one set.
    pub fn chosen() -> Self {
        let most = match SIMD.get() {
            0 => Self::ALL.len(),
            word => word as usize,
        };
        Self::ALL[..most].iter().copied().rfind(|level| level.is_there()).unwrap_or(Self::Baseline)
    }
}
