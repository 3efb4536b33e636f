// From documents to marked text. Where entities overlap, each has its own underline, one below the other.

const LINE = 4; // pixels of an underline with its gap
const LONGEST = 4000; // characters of a block without a line break: browsers skip blocks that are out of sight

// How a type is underlined: nine colours, and three patterns for when they are used up. The place in the list of types decides, so it is the same for every text.
export function look(place) {
  const colour = `hsl(${(place % 9) * 40} 70% var(--tone))`;
  const [on, off] = [[1, 0], [7, 3], [3, 3]][Math.floor(place / 9) % 3];
  return { hue: (place % 9) * 40, line: `repeating-linear-gradient(90deg, ${colour} 0 ${on}px, transparent ${on}px ${on + off}px)` };
}

// The service counts characters, JavaScript counts UTF-16 units; they differ after an emoji.
export function units(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (offset) => offset;
  const places = [];
  for (let unit = 0; unit < text.length; unit += text.codePointAt(unit) > 0xffff ? 2 : 1) places.push(unit);
  places.push(text.length);
  return (offset) => places[offset];
}

// Entities with places in UTF-16 units, an index, and the lane of their underline.
export function entities(document_) {
  const unit = units(document_.text);
  const spans = (document_.spans || []).map((span, index) => ({
    ...span,
    index,
    from: unit(span.start),
    to: unit(span.end),
    text: document_.text.slice(unit(span.start), unit(span.end)),
  }));
  return inLanes(spans.sort((a, b) => a.from - b.from || b.to - a.to));
}

function inLanes(sorted) {
  const ends = []; // where the last entity of each lane ends
  for (const entity of sorted) {
    let lane = ends.findIndex((end) => end <= entity.from);
    if (lane < 0) lane = ends.length;
    ends[lane] = entity.to;
    entity.lane = lane;
  }
  return sorted;
}

// The text cut where an entity begins or ends: [from, to, entities that cover it].
export function pieces(text, shown) {
  const cuts = new Set([0, text.length]);
  for (const entity of shown) cuts.add(entity.from).add(entity.to);
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) cuts.add(at + 1);
  const sorted = [...cuts].sort((a, b) => a - b);
  const result = [];
  let next = 0;
  let open = [];
  for (let index = 0; index + 1 < sorted.length; index++) {
    const [from, to] = [sorted[index], sorted[index + 1]];
    open = open.filter((entity) => entity.to > from);
    while (next < shown.length && shown[next].from <= from) open.push(shown[next++]);
    result.push([from, to, open]);
  }
  return result;
}

// Draw a document into an element. `looks` gives each type its underline; the map tells which elements show an entity.
export function draw(into, document_, shown, looks, label) {
  const elements = new Map(shown.map((entity) => [entity, []]));
  let block = newBlock(into);
  let size = 0;
  for (const [from, to, covering] of pieces(document_.text, shown)) {
    const text = document_.text.slice(from, to);
    block.append(covering.length ? mark(text, from, covering, looks, elements, label) : text);
    size += text.length;
    if ((text.endsWith("\n") || size > LONGEST) && !covering.some((entity) => entity.to > to)) {
      block = newBlock(into);
      size = 0;
    }
  }
  return elements;
}

function newBlock(into) {
  const block = document.createElement("div");
  block.className = "block";
  into.append(block);
  return block;
}

function mark(text, from, covering, looks, elements, label) {
  const element = document.createElement("span");
  element.className = "mark";
  element.textContent = text;
  const lowest = Math.max(...covering.map((entity) => entity.lane)) + 1;
  element.style.backgroundImage = covering.map((entity) => looks.get(entity.type).line).join(", ");
  element.style.backgroundSize = covering.map(() => "100% 3px").join(", ");
  element.style.backgroundPosition = covering.map((entity) => `0 calc(100% - ${(lowest - 1 - entity.lane) * LINE}px)`).join(", ");
  element.style.paddingBottom = `${lowest * LINE}px`;
  element.style.setProperty("--hue", looks.get(covering[0].type).hue);
  element.entities = covering;
  if (covering.some((entity) => entity.from === from)) {
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", covering.map(label).join("; "));
    element.tabIndex = -1;
  }
  for (const entity of covering) elements.get(entity).push(element);
  return element;
}
