"""The paper recomputed: every bound, number, table and figure, by hushfade's own code.

contents     the chapters, in order            write_report   computes and writes the report
document     the parts of a report             pages          Markdown, HTML, CSV and figures
decays       the decays under examination      draw           draws a figure
samples      streams shared by two chapters    theory         the paper's statements as code

There is one module per chapter.  Each yields prose, tables, figures, and claims with a computed
verdict:

bounds, formula               Theorem 2; the coefficients a_n
class_f, power_laws, exponentials, gaps    the class F and the closed forms
earlier_bounds, bolot, mechanisms    the comparison with earlier work
window, window_stream         the sliding window, as printed and corrected
coefficients                  the numbers quoted with the paper's two figures
discrepancy, completion       implications
calibration, releases         Algorithm 1 at work
limit, beyond                 results beyond the paper
"""
