// Tables of entities and of relations.

function cell(row, text, kind = "td", className = "") {
  const element = document.createElement(kind);
  element.textContent = text;
  if (className) element.className = className;
  if (kind === "th") element.scope = "col";
  row.append(element);
}

function table(into, caption, columns, rows) {
  const element = document.createElement("table");
  element.createCaption().textContent = caption;
  const head = element.createTHead().insertRow();
  for (const column of columns) cell(head, column, "th");
  const body = element.createTBody();
  for (const values of rows) {
    const row = body.insertRow();
    for (const value of values) cell(row, typeof value === "number" ? shown(value) : value ?? "", "td", typeof value === "number" ? "number" : "");
  }
  into.replaceChildren(element);
}

const shown = (value) => (Number.isInteger(value) ? String(value) : value.toFixed(4));

export function entityTable(into, documents) {
  const rows = documents.flatMap(({ id, shown }) =>
    shown.map((entity) => [id, entity.start, entity.end, entity.type, entity.text, entity.score, entity.head]),
  );
  table(into, `${rows.length.toLocaleString("en")} entities`, ["document", "start", "end", "type", "mention", "score", "head"], rows);
}

export function relationTable(into, documents) {
  const rows = documents.flatMap(({ id, document_, shown }) => {
    const mentions = new Map(shown.filter((entity) => entity.id).map((entity) => [entity.id, entity.text]));
    return (document_.relations || [])
      .filter((relation) => relation.arguments.every((end) => end.kind === "concept" || mentions.has(end.target)))
      .map((relation) => [
        id,
        relation.type,
        relation.arguments.map((end) => `${end.role}: ${mentions.get(end.target) ?? end.target}`).join(", "),
        relation.score,
        relation.head,
      ]);
  });
  table(into, `${rows.length.toLocaleString("en")} relations`, ["document", "type", "between", "score", "head"], rows);
}
