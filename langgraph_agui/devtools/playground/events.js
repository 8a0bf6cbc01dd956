// The events tab of the inspector: rows of events, filtered and searched, with the findings of the verifier.

import { button, labelled, make, setText, stickToEnd } from "./dom.js";
import { bytes, duration, FAMILY_NAMES, matches, Rows } from "./recording.js";

const BATCH = 500;
const JSON_BATCH = 50;

/** The list of a recording's events. Only the newest rows are in the page until the person asks for more. */
export class EventList {
  #recording;
  #rows = new Rows();
  /** How many runs, and entries of the last of them, are in rows. */
  #taken = { run: 0, entries: 0 };
  #filter = { family: "", owner: "", needle: "" };
  /** The rows that the filter lets through, and which of them are in the page: from `#first` on. */
  #found = [];
  #first = 0;
  /** How many rows the page has at least, if there are as many. */
  #limit = BATCH;
  #changed = new Set();
  #parts;
  #stick;
  #open;
  #step;

  /** `summary` is where the findings stand; `open()` brings the list itself into view. */
  constructor(container, summary, open) {
    this.#open = open;
    const family = select("Family", [["", "All"], ...FAMILY_NAMES.map((name) => [name, name])]);
    const owner = select("Agent", [["", "All"], ["main", "main agent"]]);
    const search = make("input", { type: "search", autocomplete: "off", spellcheck: false });
    const filters = make("div", { className: "insp-filters" }, family.label, owner.label, labelled("Search", search));
    const verdict = make("p", { className: "insp-verdict" });
    verdict.setAttribute("role", "status");
    const findings = make("ul", { className: "insp-findings" });
    const count = make("p", { className: "insp-count" });
    const earlier = make("button", { type: "button", className: "insp-more", hidden: true });
    const list = make("ol", { className: "insp-rows" });
    const box = make("div", { className: "insp-scroll", tabIndex: 0 }, earlier, list);
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Events");
    const jump = button("Jump to latest", () => {}, "jump");
    summary.append(verdict, findings);
    container.append(filters, count, box, make("div", { className: "jump-box" }, jump));
    this.#parts = { family: family.box, owner: owner.box, search, verdict, findings, count, earlier, list };
    this.#stick = stickToEnd(box, jump);
    // Rows get their height when they come into view.
    new ResizeObserver(() => this.#stick()).observe(list);
    family.box.addEventListener("change", () => this.#refilter({ family: family.box.value }));
    owner.box.addEventListener("change", () => this.#refilter({ owner: owner.box.value }));
    let frame = 0;
    search.addEventListener("input", () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        this.#refilter({ needle: search.value.toLowerCase() });
      });
    });
    earlier.addEventListener("click", () => this.#showLast(this.#limit + BATCH));
  }

  /** Show another recording, from its beginning. */
  show(recording) {
    this.#recording = recording;
    this.#rows = new Rows();
    this.#taken = { run: 0, entries: 0 };
    this.#step = undefined;
    this.#changed.clear();
    this.#refilter({});
  }

  /** Draw what has been recorded since the last time. */
  draw() {
    this.#take();
    for (const row of this.#changed) row.refresh?.();
    this.#changed.clear();
    this.#append();
    this.#drawOwners();
    const total = this.#recording.runs.reduce((sum, run) => sum + run.entries.length, 0);
    const shown = this.#found.reduce((sum, row) => sum + row.entries.length, 0);
    setText(this.#parts.count, shown === total ? `${total} events` : `${shown} of ${total} events`);
    this.#stick();
  }

  /** Draw the findings of `run`, and what is known of its stream. */
  drawFindings(run) {
    const { verdict, findings } = this.#parts;
    setText(verdict, verdictOf(run));
    verdict.dataset.kind = run?.findings?.length > 0 ? "bad" : run?.findings ? "good" : "unknown";
    const found = (run?.findings ?? []).map((finding) => {
      const entry = run.entries[finding.index];
      const text = make("span", {}, make("strong", {}, finding.code), ` ${finding.message}`);
      const jump = entry && make("button", { type: "button" }, `Show event ${entry.number}`);
      jump?.addEventListener("click", () => this.reveal(entry));
      return make("li", {}, text, jump);
    });
    findings.replaceChildren(...found);
    this.#take();
    for (const row of this.#rows.all) row.refresh?.();
  }

  /** Bring the row of `entry` into view and open it; a filter that hides it ends. */
  reveal(entry) {
    this.#take();
    const holds = (row) => row.run === entry.run && row.entries.some(({ number }) => number === entry.number);
    if (!this.#found.some(holds)) {
      const { family, owner, search } = this.#parts;
      family.value = owner.value = search.value = "";
      this.#refilter({ family: "", owner: "", needle: "" });
    }
    const at = this.#found.findIndex(holds);
    if (at < this.#first) this.#showLast(this.#found.length - at);
    this.#open();
    const { details } = this.#found[at];
    details.open = true;
    details.scrollIntoView({ block: "nearest" });
    details.querySelector("summary").focus();
  }

  /** Mark the row of `entry` as the one that the person has stepped to; undefined for none. */
  markStep(entry) {
    const held = this.#step;
    this.#step = entry && this.#rows.all.find((row) => row.run === entry.run && row.entries.includes(entry));
    held?.refresh?.();
    this.#step?.refresh?.();
    this.#step?.details?.scrollIntoView({ block: "nearest" });
  }

  /** Put new entries into rows. */
  #take() {
    const { runs } = this.#recording;
    for (;;) {
      const run = runs[this.#taken.run];
      if (!run) return;
      for (; this.#taken.entries < run.entries.length; this.#taken.entries += 1) {
        const row = this.#rows.add(run.entries[this.#taken.entries]);
        if (row.entries.length > 1) this.#changed.add(row);
        if (this.#found.at(-1) !== row && !row.found && matches(row, this.#filter)) this.#find(row);
      }
      if (this.#taken.run === runs.length - 1) return;
      this.#taken = { run: this.#taken.run + 1, entries: 0 };
    }
  }

  #find(row) {
    row.found = true;
    this.#found.push(row);
  }

  #refilter(change) {
    Object.assign(this.#filter, change);
    this.#found = [];
    for (const row of this.#rows.all) {
      row.found = matches(row, this.#filter);
      if (row.found) this.#found.push(row);
    }
    this.#showLast(BATCH);
    this.draw();
  }

  /** Have the last `limit` rows in the page. */
  #showLast(limit) {
    this.#limit = limit;
    this.#first = Math.max(0, this.#found.length - limit);
    this.#parts.list.replaceChildren();
    this.#append();
  }

  /** Append the rows that the page lacks; the earliest leave it when there are too many. */
  #append() {
    const { list, earlier } = this.#parts;
    if (this.#found.length - this.#first > this.#limit + BATCH) {
      const next = this.#first + list.children.length;
      this.#first = this.#found.length - this.#limit;
      if (this.#first >= next) list.replaceChildren();
      else while (this.#first + list.children.length > next) list.firstElementChild.remove();
    }
    list.append(...this.#found.slice(this.#first + list.children.length).map((row) => this.#element(row)));
    earlier.hidden = this.#first === 0;
    setText(earlier, `Show ${Math.min(BATCH, this.#first)} more (${this.#first} earlier)`);
  }

  #element(row) {
    if (row.element) return row.element;
    const span = (className, text = "") => make("span", { className, textContent: text });
    const [entry] = row.entries;
    const at = entry.at === undefined ? "" : duration(entry.at);
    const run = row.run.number > 1 ? `${row.run.number}.` : "";
    const numbers = span("insp-number", `${run}${entry.number}`);
    const many = span("insp-many");
    const size = span("insp-size");
    const preview = span("insp-preview");
    const owner = row.owner && span("owner", this.#recording.nameOf(row.owner));
    const more = make("span", { className: "insp-second" }, owner, preview);
    const type = span("insp-type", row.type);
    const summary = make("summary", {}, numbers, span("insp-at", at), type, many, size, more);
    const body = make("div", { className: "insp-body" });
    row.details = make("details", {}, summary, body);
    row.element = make("li", {}, row.details);
    row.element.dataset.family = row.family;
    const fill = () => row.details.open && fillBody(body, row);
    row.details.addEventListener("toggle", fill);
    row.refresh = () => {
      setText(many, row.entries.length > 1 ? `×${row.entries.length}` : "");
      many.title = `${row.entries.length} events`;
      setText(size, bytes(row.size));
      setText(preview, previewOf(row));
      const found = findingsOf(row);
      row.element.toggleAttribute("data-bad", found.length > 0);
      row.element.querySelector(".insp-wrong")?.remove();
      if (found.length > 0) summary.after(make("p", { className: "insp-wrong" }, found.map(wordsOf).join("\n")));
      if (row === this.#step) row.element.setAttribute("aria-current", "true");
      else row.element.removeAttribute("aria-current");
      fill();
    };
    row.refresh();
    return row.element;
  }

  #drawOwners() {
    const { owner } = this.#parts;
    const { names } = this.#recording;
    if (owner.options.length === names.size + 2) return;
    const value = owner.value;
    const seen = new Map();
    const options = [...names].map(([id, name]) => {
      seen.set(name, (seen.get(name) ?? 0) + 1);
      return new Option(seen.get(name) > 1 ? `${name} (${seen.get(name)})` : name, id);
    });
    owner.replaceChildren(new Option("All", ""), new Option("main agent", "main"), ...options);
    owner.value = [...owner.options].some((option) => option.value === value) ? value : "";
  }
}

function select(text, options) {
  const box = make("select", {}, ...options.map(([value, label]) => new Option(label, value)));
  return { box, label: labelled(text, box) };
}

function verdictOf(run) {
  if (!run) return "";
  if (run.findings) {
    if (run.findings.length === 0) return "The stream keeps every rule.";
    return run.findings.length === 1 ? "1 finding" : `${run.findings.length} findings`;
  }
  if (run.unchecked) return `The stream was not checked: ${run.unchecked}`;
  return run.ended === undefined ? "" : "The stream is being checked…";
}

function findingsOf(row) {
  const [{ number: first }] = row.entries;
  const inRow = ({ index }) => first <= index + 1 && row.entries.some(({ number }) => number === index + 1);
  return (row.run.findings ?? []).filter(inRow);
}

function wordsOf({ index, code, message }) {
  return `Event ${index + 1}: ${code}: ${message}`;
}

/** Return the text that a closed row shows of its events. */
function previewOf({ text, entries: [{ event }] }) {
  const shown = text || event.toolCallName || event.stepName || event.name || event.message || "";
  return typeof shown === "string" ? shown.slice(0, 200) : "";
}

/** Fill an open row: the joined text of many deltas, and the JSON of each event, a batch at a time. */
function fillBody(body, row) {
  if (row.entries.length > 1) {
    let joined = body.querySelector(".insp-joined");
    if (!joined) body.prepend((joined = make("pre", { className: "insp-joined" })));
    setText(joined, row.text);
  }
  const shown = body.querySelectorAll(".insp-json").length;
  const limit = Math.max(JSON_BATCH, Number(body.dataset.limit ?? 0));
  const fresh = row.entries.slice(shown, limit).map(({ number, event }) => {
    const label = row.entries.length > 1 && make("span", { className: "insp-number", textContent: `${number}` });
    return make("div", { className: "insp-one" }, label || null, jsonBox(event));
  });
  body.querySelector(".insp-more")?.remove();
  body.append(...fresh);
  const left = row.entries.length - Math.max(limit, shown);
  if (left <= 0) return;
  const label = `Show ${Math.min(left, JSON_BATCH)} more (${left} left)`;
  const more = make("button", { type: "button", className: "insp-more" }, label);
  more.addEventListener("click", () => {
    body.dataset.limit = String(limit + JSON_BATCH);
    fillBody(body, row);
  });
  body.append(more);
}

function jsonBox(event) {
  return make("pre", { className: "insp-json", textContent: JSON.stringify(event, null, 2) });
}
