// How the search ranks pages. Measurements, the paper and decision records come after the guides.
var Scorer = {
  score: ([page, , , , score]) => (/^(decisions|paper|results)\//.test(page) ? score - 10 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
