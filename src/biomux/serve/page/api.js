// Requests to the service. Addresses are relative, so that the page also works behind a proxy with a prefix.

export class ServiceError extends Error {
  constructor(body) {
    super(body.error);
    this.body = body;
  }
}

export async function info() {
  const reply = await fetch("info");
  if (!reply.ok) throw await failure(reply);
  return reply.json();
}

// The answer of the service as text; `signal` aborts the request.
export async function annotate(question, signal) {
  const reply = await fetch("annotate", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
    signal,
  });
  if (!reply.ok) throw await failure(reply);
  return reply.text();
}

async function failure(reply) {
  const unknown = { error: `the service answered ${reply.status}`, code: String(reply.status), where: null, hint: null };
  return new ServiceError(await reply.json().catch(() => unknown));
}

// The fields of a request that carry the text: files from PubMed and others are sent unchanged.
const FILE = /^\s*(<\?xml|<!DOCTYPE|<PubmedArticle|<article|<collection|PMID- *\d|\d+\|t\||\{"(biomux|bioctype)")/;

export function textFields(text) {
  return FILE.test(text) ? { content: text } : { text };
}
