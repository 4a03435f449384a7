"""The paper recomputed: every bound, number, table and figure, from this package's own code.

contents   the chapters, in order              compose    the report
document   the parts of a report               journal    chapters that are already computed
pages, web Markdown, HTML, CSV and figures     draw       a figure
decays     the decays that are examined        samples    streams that two chapters share

One module per chapter.  Each yields prose, tables, figures, and claims with a computed verdict:

bounds, formula               Theorem 2; the coefficients a_n
class_f, power_laws, exponentials, gaps    the class F and the closed forms
prior, bolot, mechanisms      the comparison with prior work
window, window_stream         the sliding window, as printed and corrected
coefficients                  the paper's two figures
discrepancy, completion       implications
calibration, releases         Algorithm 1 at work
limit, beyond                 results beyond the paper
"""
