// Rounding in the safe direction, never to the nearest number.

/** The smallest number with this many significant digits that is not below x. */
export function roundedUp(x, digits) {
  const nearest = Number(x.toPrecision(digits));
  if (!(nearest < x)) return nearest;
  const [mantissa, exponent] = nearest.toExponential(digits - 1).split("e");
  const next = BigInt(mantissa.replace(".", "")) + 1n;
  return Number(`${next}e${Number(exponent) - digits + 1}`);
}

/** The smallest number with this many decimal places that is not below x. */
export function upTo(x, places) {
  const nearest = Number(x.toFixed(places));
  return nearest < x ? Number((nearest + 10 ** -places).toFixed(places)) : nearest;
}
