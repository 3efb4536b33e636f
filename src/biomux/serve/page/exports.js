// Exports of what was found: by the service's own writers, or as a page that needs nothing else.

const NAMES = {
  json: ["biomux.json", "application/json"],
  tsv: ["biomux.tsv", "text/tab-separated-values"],
  pubtator: ["biomux.pubtator.txt", "text/plain"],
  "bioc-json": ["biomux.bioc.json", "application/json"],
  "bioc-xml": ["biomux.bioc.xml", "application/xml"],
  html: ["biomux.html", "text/html"],
};

export function save(content, format) {
  const [name, media] = NAMES[format];
  const address = URL.createObjectURL(new Blob([content], { type: `${media};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

const escape = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`);

// The marked text as a page with the styles that it needs; no script.
export async function page(marked) {
  const styles = await (await fetch("page/style.css")).text();
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Biomux</title><style>${styles}</style></head><body><main>${[...marked.childNodes].map(html).join("")}</main></body></html>
`;
}

function html(node) {
  if (node.nodeType === Node.TEXT_NODE) return escape(node.data);
  const inner = [...node.childNodes].map(html).join("");
  const name = node.localName;
  if (!node.entities) return `<${name} class="${escape(node.className)}">${inner}</${name}>`;
  const title = escape(node.getAttribute("aria-label") || "");
  return `<span class="mark" title="${title}" style="${escape(node.getAttribute("style"))}">${inner}</span>`;
}
