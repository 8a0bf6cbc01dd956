// Markdown as the server renders it. Of its HTML only known tags, classes and links are copied into the page.

import { copyButton } from "./controls.js";
import { make } from "./dom.js";
import { loadMath, mathElement } from "./math.js";

const MAX_TEXTS = 64;
const MAX_CHARACTERS = 250_000;
const TAGS = new Set("p br hr em strong s code pre blockquote ul ol li table thead tbody tr th td span".split(" "));
// Their marks and columns follow the direction of their text.
const DIRECTED = new Set(["ul", "ol", "blockquote", "table"]);
const CLASS = /^(hl-[a-z0-9]+|left|right|center)$/;
const LINK = /^(https?:|mailto:)/i;
const MATH = "span.math";

/** Asks the server at `url` for HTML: texts that wait go together, in one request at a time. */
export class Markdown {
  #url;
  #waiting = [];
  #busy = false;

  constructor(url) {
    this.#url = url;
  }

  /** Return the HTML of each text. Rejects if the server does not answer. */
  render(texts) {
    const answers = texts.map((text) => new Promise((done, fail) => this.#waiting.push({ text, done, fail })));
    // Later calls of the same turn join this request.
    queueMicrotask(() => this.#next());
    return Promise.all(answers);
  }

  async #next() {
    if (this.#busy || this.#waiting.length === 0) return;
    this.#busy = true;
    let size = 0;
    let count = 0;
    for (const { text } of this.#waiting.slice(0, MAX_TEXTS)) {
      size += text.length;
      if (count > 0 && size > MAX_CHARACTERS) break;
      count += 1;
    }
    const batch = this.#waiting.splice(0, count);
    try {
      const html = await this.#post(batch.map(({ text }) => text));
      batch.forEach(({ done }, at) => done(html[at]));
    } catch (error) {
      for (const { fail } of batch) fail(error);
    }
    this.#busy = false;
    this.#next();
  }

  async #post(texts) {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(this.#url, { method: "POST", headers, body: JSON.stringify({ texts }) });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const { html } = await response.json();
    if (html.some((one) => one.includes('class="math"'))) await loadMath().catch(() => {});
    return html;
  }
}

/** Show `html`, which the server made of `text`, in `element`; without it, the text itself. */
export function fillMarkdown(element, text, html) {
  element.replaceChildren();
  if (html === undefined) element.append(text);
  else copyInto(element, new DOMParser().parseFromString(html, "text/html").body);
}

function copyInto(target, source) {
  for (const node of source.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) target.append(node.data);
    else if (node.nodeType === Node.ELEMENT_NODE) copyElement(target, node);
  }
}

function copyElement(target, node) {
  const tag = node.localName;
  if (tag === "script" || tag === "style") return;
  if (node.matches(MATH)) return void target.append(mathElement(node.textContent));
  const element = known(node, tag);
  copyInto(element ?? target, node);
  if (element === undefined || (tag === "a" && element.textContent === "")) return;
  // Browsers break a word at its hyphens, such as a date.
  if (tag === "td" && /^\S{1,40}$/.test(element.textContent)) element.classList.add("word");
  target.append(tag === "pre" ? codeBlock(element) : tag === "table" ? scrolling("table-box", element) : element);
}

function known(node, tag) {
  // The page has its own headings: those of an answer must not stand among them.
  if (/^h[1-6]$/.test(tag)) return make("p", { className: `heading ${tag}` });
  const href = node.getAttribute("href");
  if (tag === "a" && LINK.test(href)) return make("a", { href, target: "_blank", rel: "noopener noreferrer" });
  if (!TAGS.has(tag)) return undefined;
  const element = make(tag, DIRECTED.has(tag) ? { dir: "auto" } : {});
  element.classList.add(...[...node.classList].filter((name) => CLASS.test(name)));
  const language = tag === "code" && /^language-([\w+#.-]+)$/.exec(node.className);
  if (language) element.dataset.language = language[1];
  const start = tag === "ol" && Number.parseInt(node.getAttribute("start"), 10);
  if (Number.isInteger(start)) element.start = start;
  return element;
}

/** Return a box that scrolls sideways, also by keyboard. */
function scrolling(className, ...children) {
  return make("div", { className, tabIndex: 0 }, ...children);
}

function codeBlock(pre) {
  const language = pre.querySelector("code")?.dataset.language ?? "";
  const head = make("div", { className: "code-head" }, make("span", {}, language));
  head.append(copyButton("Copy code", () => pre.textContent.replace(/\n$/, "")));
  pre.tabIndex = 0;
  return make("div", { className: "code-block" }, head, pre);
}

/**
 * Shows a text that grows as Markdown. Each block is rendered once it is complete, what follows stays plain until then;
 * the whole is rendered when the text has ended, because only then all lists and references are known.
 */
export class GrowingMarkdown {
  #element;
  #render;
  #tail = make("span", { className: "tail" });
  #text = "";
  #ended = false;
  /** How much of the text is rendered, is in complete blocks, and was looked at. */
  #drawn = 0;
  #complete = 0;
  #scanned = 0;
  #fence = "";
  #afterBlank = false;
  #shownWhole = false;
  #asking = false;
  #failed = false;

  /** `render(text)` returns a promise of HTML; `filled(fill)` calls `fill`, and returns a promise of when it has. */
  constructor(element, render, filled) {
    this.#element = element;
    this.#render = render;
    this.filled = filled;
    element.append(this.#tail);
  }

  update(text, streaming) {
    if (this.#shownWhole && !streaming && text === this.#text) return;
    if (!text.startsWith(this.#text) || (this.#ended && (streaming || text !== this.#text))) this.#begin();
    this.#text = text;
    if (this.#ended === streaming) this.#failed = false;
    this.#ended = !streaming;
    if (streaming) this.#scan();
    this.#drawTail();
    this.#ask();
  }

  #begin() {
    this.#drawn = this.#complete = this.#scanned = 0;
    this.#fence = "";
    this.#afterBlank = this.#shownWhole = this.#failed = false;
    this.#element.replaceChildren(this.#tail);
  }

  /** Find where the last complete block ends: at a blank line outside of code that no indented line follows. */
  #scan() {
    for (;;) {
      const end = this.#text.indexOf("\n", this.#scanned);
      const line = this.#text.slice(this.#scanned, end < 0 ? undefined : end);
      if (this.#afterBlank && /^\S/.test(line)) {
        this.#complete = this.#scanned;
        this.#afterBlank = false;
      }
      if (end < 0) return;
      this.#scanned = end + 1;
      const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
      if (this.#fence) {
        if (mark?.startsWith(this.#fence) && line.trim() === mark) this.#fence = "";
      } else if (mark) this.#fence = mark;
      else this.#afterBlank ||= line.trim() === "" && this.#scanned > 1;
    }
  }

  #drawTail() {
    const rest = this.#shownWhole ? "" : this.#text.slice(this.#drawn);
    const node = this.#tail.firstChild;
    if (node && rest.startsWith(node.data)) node.appendData(rest.slice(node.data.length));
    else if (this.#tail.textContent !== rest) this.#tail.replaceChildren(rest);
    this.#tail.classList.toggle("code", this.#fence !== "" && this.#complete === this.#drawn && !this.#ended);
  }

  async #ask() {
    const whole = this.#ended;
    const text = whole ? this.#text : this.#text.slice(this.#drawn, this.#complete);
    if (this.#asking || this.#failed || this.#shownWhole || text === "") return;
    this.#asking = true;
    const html = await this.#render(text).catch(() => undefined);
    if (html !== undefined) await this.filled(() => this.#fits(text, whole) && this.#fill(text, html, whole));
    this.#asking = false;
    // Without an answer plain text stays; a text that still streams is tried again as a whole when it has ended.
    this.#failed = html === undefined && (whole || !this.#ended);
    this.#ask();
  }

  /** Whether `text`, which was rendered meanwhile, is still what the element lacks. */
  #fits(text, whole) {
    return whole ? this.#ended && text === this.#text : this.#text.startsWith(text, this.#drawn);
  }

  #fill(text, html, whole) {
    const block = make("div", { className: "markdown" });
    fillMarkdown(block, text, html);
    if (whole) {
      this.#element.replaceChildren(block, this.#tail);
      this.#shownWhole = true;
    } else {
      this.#tail.before(block);
      this.#drawn += text.length;
    }
    this.#drawTail();
  }
}
