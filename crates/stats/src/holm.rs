//! Correction for several comparisons in one session.

/// Holm's step-down correction (*A simple sequentially rejective multiple test procedure*, Scand. J. Statist. 6, 1979).
/// The smallest of m p values is multiplied by m, the next by m − 1, and so on; no corrected value is smaller than the
/// one before it. The probability that any candidate is wrongly called different stays below the level.
///
/// ```
/// use unspin_stats::holm;
/// let corrected = holm(&[0.01, 0.04, 0.03]);
/// assert!((corrected[0] - 0.03).abs() < 1e-12);
/// assert!((corrected[1] - 0.06).abs() < 1e-12 && (corrected[2] - 0.06).abs() < 1e-12);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut floor = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        floor = floor.max(p_values[index] * (p_values.len() - rank) as f64).min(1.0);
        corrected[index] = floor;
    }
    corrected
}
