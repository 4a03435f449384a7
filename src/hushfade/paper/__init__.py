"""The paper, recomputed: every bound, number, table and figure, from this package's own code.

contents   the chapters, in order              compose    a report of them
document   what a report is made of            journal    chapters that are already computed
pages, web Markdown, HTML, CSV and pictures    draw       a figure
decays     the decays that are looked at       samples    streams that two chapters look at

One module for each chapter.  Each yields prose, tables, figures, and claims with a verdict that is
computed:

bounds, formula               Theorem 2; the coefficients a_n
membership, power_laws, exponentials, gaps    the class F and the closed forms
prior, bolot, mechanisms      the comparison with prior work
window, window_stream         the sliding window, printed and corrected
coefficients                  the paper's two figures
discrepancy, completion       implications
calibration, releases         Algorithm 1 at work
limit, beyond                 what lies beyond the paper
"""
