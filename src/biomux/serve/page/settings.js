// The settings of the page, and the part of its address that holds them. The text is never in the address.

const VIEWS = ["marked", "table", "relations"];

export function initial() {
  return { threshold: null, resolve: false, abbreviations: false, hidden: [], view: "marked" };
}

export function fromAddress(hash) {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const settings = initial();
  const threshold = Number.parseFloat(parameters.get("threshold"));
  if (threshold >= 0 && threshold <= 1) settings.threshold = threshold;
  settings.resolve = parameters.get("resolve") === "1";
  settings.abbreviations = parameters.get("abbreviations") === "1";
  settings.hidden = (parameters.get("hide") || "").split(",").filter(Boolean);
  if (VIEWS.includes(parameters.get("view"))) settings.view = parameters.get("view");
  return settings;
}

export function toAddress(settings) {
  const parameters = new URLSearchParams();
  if (settings.threshold !== null) parameters.set("threshold", settings.threshold.toFixed(2));
  if (settings.resolve) parameters.set("resolve", "1");
  if (settings.abbreviations) parameters.set("abbreviations", "1");
  if (settings.hidden.length) parameters.set("hide", settings.hidden.join(","));
  if (settings.view !== "marked") parameters.set("view", settings.view);
  return `#${parameters}`;
}

// The fields of a request for the settings.
export function fields(settings) {
  const request = {};
  if (settings.threshold !== null) request.threshold = settings.threshold;
  if (settings.resolve) request.resolve = true;
  if (settings.abbreviations) request.abbreviations = true;
  return request;
}

// The precision on development data from a score on: that of the last point not above it.
export function precisionAt(points, score) {
  let precision = null;
  for (const point of points) if (point.score <= score) precision = point.precision;
  return precision;
}
