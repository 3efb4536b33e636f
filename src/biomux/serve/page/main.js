// The page: what is sent, what is shown, and how both are changed.

import * as api from "./api.js";
import { page, save } from "./exports.js";
import { draw, entities, look } from "./marks.js";
import { fields, fromAddress, precisionAt, toAddress } from "./settings.js";
import { entityTable, relationTable } from "./tables.js";

const EXAMPLES = {
  "A drug and its target": "Aspirin (acetylsalicylic acid) irreversibly inhibits cyclooxygenase-2 (COX-2) in mice. In HeLa cells, COX-2 expression fell by 40% after treatment with cisplatin.",
  "Genes and cancer": "Germline BRCA1 and BRCA2 mutations predispose to breast cancer and ovarian cancer. Loss of TP53 in mammary epithelial cells of Mus musculus accelerated tumour growth, and olaparib was effective in PARP1-dependent cell lines such as MDA-MB-231.",
  "Infection": "Escherichia coli K-12 and Staphylococcus aureus were cultured with ciprofloxacin. Patients with sepsis had raised interleukin-6 and procalcitonin in plasma; T cells from the spleen produced interferon gamma.",
};

const $ = (id) => document.getElementById(id);
const state = { settings: fromAddress(location.hash), info: null, found: null, request: null, marks: [], shown: null };

function question() {
  return { ...api.textFields($("text").value), ...fields(state.settings) };
}

async function ask() {
  if (!$("text").value.trim()) return tell("Paste a text first, or choose an example.");
  state.request?.abort();
  const request = (state.request = new AbortController());
  tell("Reading …");
  $("error").replaceChildren();
  try {
    const started = performance.now();
    state.found = JSON.parse(await api.annotate(question(), request.signal)).documents;
    show();
    const count = state.found.reduce((sum, document_) => sum + (document_.spans || []).length, 0);
    tell(`${count.toLocaleString("en")} ${count === 1 ? "entity" : "entities"} in ${Math.round(performance.now() - started).toLocaleString("en")} ms.${count ? "" : " Nothing was found: try a lower score."}`);
    performance.mark("highlighted");
  } catch (error) {
    if (error.name === "AbortError") return;
    tell("");
    fail(error);
  } finally {
    if (state.request === request) state.request = null;
  }
}

function tell(text) {
  $("status").textContent = text;
}

function fail(error) {
  const body = error.body || { error: "the service cannot be reached", code: "", where: null, hint: "check that it is running" };
  const lines = [`${body.code} ${body.where ? `${body.where}: ` : ""}${body.error}`, body.hint].filter(Boolean);
  $("error").replaceChildren(...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line.trim() })));
}

// Everything below shows `state.found` and sends no request.

function looks() {
  const names = [...new Set([...(state.info?.types || []).map((type) => type.name), ...state.found.flatMap((document_) => (document_.spans || []).map((span) => span.type))])];
  return new Map(names.map((name, place) => [name, look(place)]));
}

function show() {
  const underlines = looks();
  const hidden = new Set(state.settings.hidden);
  const documents = state.found.map((document_) => {
    const all = entities(document_);
    return { id: document_.id, document_, all, shown: all.filter((entity) => !hidden.has(entity.type)) };
  });
  $("result").hidden = false;
  showTypes(documents, underlines, hidden);
  showMarks(documents, underlines);
  state.shown = documents;
  $("tab-relations").hidden = !state.found.some((document_) => (document_.relations || []).length);
  view($("tab-relations").hidden && state.settings.view === "relations" ? "marked" : state.settings.view);
}

function showTypes(documents, underlines, hidden) {
  const counts = new Map();
  for (const { all } of documents) for (const entity of all) counts.set(entity.type, (counts.get(entity.type) || 0) + 1);
  const typesByName = new Map((state.info?.types || []).map((type) => [type.name, type]));
  const items = [...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => {
    const item = document.createElement("li");
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: !hidden.has(name) });
    const swatch = Object.assign(document.createElement("span"), { className: "swatch" });
    swatch.style.backgroundImage = underlines.get(name).line;
    box.addEventListener("change", () => {
      state.settings.hidden = box.checked ? state.settings.hidden.filter((type) => type !== name) : [...state.settings.hidden, name];
      show();
    });
    const type = typesByName.get(name);
    const precision = type && precisionAt(type.precision, state.settings.threshold ?? type.threshold ?? 0);
    const more = Object.assign(document.createElement("span"), { className: "help" });
    more.textContent = `${count.toLocaleString("en")}${precision === null || precision === undefined ? "" : `, precision ${precision.toFixed(2)}`}`;
    label.className = "check";
    label.append(box, swatch, name, more);
    item.append(label);
    return item;
  });
  $("types").replaceChildren(...items);
}

const describe = (entity) => `${entity.text}: ${entity.type}${entity.score == null ? "" : `, score ${entity.score.toFixed(2)}`}${entity.head ? `, head ${entity.head}` : ""}`;

function showMarks(documents, underlines) {
  const panel = $("marked");
  panel.replaceChildren();
  state.elements = new Map();
  state.related = new Map();
  for (const { id, document_, shown } of documents) {
    const article = document.createElement("div");
    article.className = "document";
    if (documents.length > 1) article.append(Object.assign(document.createElement("h3"), { textContent: id }));
    for (const [entity, elements] of draw(article, document_, shown, underlines, describe)) state.elements.set(entity, elements);
    panel.append(article);
    const byId = new Map(shown.filter((entity) => entity.id).map((entity) => [entity.id, entity]));
    for (const relation of document_.relations || []) {
      const ends = relation.arguments.map((end) => byId.get(end.target)).filter(Boolean);
      for (const end of ends) state.related.set(end, [...(state.related.get(end) || []), { relation, ends }]);
    }
  }
  state.marks = [...panel.querySelectorAll('[role="button"]')];
  if (state.marks.length) state.marks[0].tabIndex = 0;
}

function choose(element) {
  for (const old of $("marked").querySelectorAll(".on, .related")) old.classList.remove("on", "related");
  const lines = [];
  for (const entity of element.entities) {
    for (const part of state.elements.get(entity)) part.classList.add("on");
    lines.push(describe(entity));
    for (const { relation, ends } of state.related.get(entity) || []) {
      lines.push(`${relation.type}: ${ends.map((end) => end.text).join(" – ")}`);
      for (const end of ends) if (end !== entity) for (const part of state.elements.get(end)) part.classList.add("related");
    }
  }
  $("details").textContent = lines.join(" · ");
}

function go(step) {
  const at = state.marks.indexOf(document.activeElement);
  const next = state.marks[Math.min(Math.max(at + step, 0), state.marks.length - 1)];
  if (!next) return;
  for (const mark of state.marks) if (mark.tabIndex === 0) mark.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function view(name) {
  state.settings.view = name;
  for (const tab of $("views").querySelectorAll('[role="tab"]')) {
    const selected = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !selected;
  }
  $("details").hidden = name !== "marked";
  if (!state.shown) return;
  if (name === "table") entityTable($("table"), state.shown); // made on demand: thousands of rows take a while
  if (name === "relations") relationTable($("relations"), state.shown);
}

function showSettings() {
  const { threshold, resolve, abbreviations } = state.settings;
  $("own").checked = threshold === null;
  $("resolve").checked = resolve;
  $("abbreviations").checked = abbreviations;
  if (threshold !== null) $("score").value = threshold;
  $("score-shown").textContent = Number($("score").value).toFixed(2);
  const reached = (state.info?.types || []).map((type) => precisionAt(type.precision, Number($("score").value))).filter((value) => value !== null);
  $("precision").textContent = threshold === null || !reached.length ? "" : `precision on development data ${Math.min(...reached).toFixed(2)} to ${Math.max(...reached).toFixed(2)}, by type`;
}

async function content() {
  if ($("format").value === "html") return page($("marked"));
  const hidden = new Set(state.settings.hidden);
  const types = [...new Set(state.found.flatMap((document_) => (document_.spans || []).map((span) => span.type)))];
  const visible = types.filter((type) => !hidden.has(type));
  const selection = visible.length && visible.length < types.length ? { types: visible } : {};
  return api.annotate({ ...question(), ...selection, format: $("format").value });
}

async function take(action, done) {
  try {
    await action();
    tell(done);
  } catch (error) {
    fail(error);
  }
}

let waiting = null;
function changed() {
  showSettings();
  if (!state.found) return;
  clearTimeout(waiting);
  waiting = setTimeout(ask, 250);
}

function listen() {
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask();
  });
  for (const name of ["dragover", "dragleave", "drop"]) $("text").addEventListener(name, (event) => $("text").classList.toggle("over", event.type === "dragover"));
  $("text").addEventListener("dragover", (event) => event.preventDefault());
  $("text").addEventListener("drop", async (event) => {
    const file = event.dataTransfer.files[0];
    if (!file) return;
    event.preventDefault();
    $("text").value = await file.text();
    ask();
  });
  $("own").addEventListener("change", () => {
    state.settings.threshold = $("own").checked ? null : Number($("score").value);
    changed();
  });
  $("score").addEventListener("input", () => {
    state.settings.threshold = Number($("score").value);
    changed();
  });
  for (const name of ["resolve", "abbreviations"]) {
    $(name).addEventListener("change", () => {
      state.settings[name] = $(name).checked;
      changed();
    });
  }
  $("marked").addEventListener("pointerover", (event) => event.target.entities && choose(event.target));
  $("marked").addEventListener("focusin", (event) => event.target.entities && choose(event.target));
  $("marked").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined && state.marks.length && event.target.entities) {
      event.preventDefault();
      go(step);
    }
  });
  $("views").addEventListener("click", (event) => event.target.role === "tab" && view(event.target.id.slice(4)));
  $("views").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...$("views").querySelectorAll('[role="tab"]:not([hidden])')];
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    view(next.id.slice(4));
    next.focus();
  });
  $("copy").addEventListener("click", () => take(async () => navigator.clipboard.writeText(await content()), "Copied."));
  $("download").addEventListener("click", () => take(async () => save(await content(), $("format").value), "Downloaded."));
  $("link").addEventListener("click", () =>
    take(async () => {
      history.replaceState(null, "", toAddress(state.settings));
      await navigator.clipboard.writeText(location.href);
    }, "The address of this page now holds the settings, and is copied. It does not hold the text."),
  );
}

function examples() {
  for (const [name, text] of Object.entries(EXAMPLES)) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
    button.addEventListener("click", () => {
      $("text").value = text;
      ask();
    });
    $("examples").append(button);
  }
}

listen();
examples();
showSettings();
api.info().then(
  (info) => {
    state.info = info;
    $("model").textContent = `${info.types.length} entity types, model ${info.name}`;
    showSettings();
    if (state.found) show();
  },
  fail,
);
