// The settings of the page, and the part of its address that holds them. The text is never in the address.

const VIEWS = ["marked", "table", "relations"];

export function initial() {
  return { threshold: null, resolve: false, abbreviations: false, hidden: [], view: "marked" };
}

export function fromAddress(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const settings = initial();
  const threshold = Number.parseFloat(given.get("threshold"));
  if (threshold >= 0 && threshold <= 1) settings.threshold = threshold;
  settings.resolve = given.get("resolve") === "1";
  settings.abbreviations = given.get("abbreviations") === "1";
  settings.hidden = (given.get("hide") || "").split(",").filter(Boolean);
  if (VIEWS.includes(given.get("view"))) settings.view = given.get("view");
  return settings;
}

export function toAddress(settings) {
  const told = new URLSearchParams();
  if (settings.threshold !== null) told.set("threshold", settings.threshold.toFixed(2));
  if (settings.resolve) told.set("resolve", "1");
  if (settings.abbreviations) told.set("abbreviations", "1");
  if (settings.hidden.length) told.set("hide", settings.hidden.join(","));
  if (settings.view !== "marked") told.set("view", settings.view);
  return `#${told}`;
}

// The fields of a question that the settings stand for.
export function fields(settings) {
  const asked = {};
  if (settings.threshold !== null) asked.threshold = settings.threshold;
  if (settings.resolve) asked.resolve = true;
  if (settings.abbreviations) asked.abbreviations = true;
  return asked;
}

// The precision that development data had from a score on: that of the last point not above it.
export function precisionAt(points, score) {
  let found = null;
  for (const point of points) if (point.score <= score) found = point.precision;
  return found;
}
