// The shared state: a tree that marks what changed, the last changes, and an editor.

import { make, setText } from "./dom.js";
import { StateEditor } from "./state_editor.js";

const LONG_TEXT = 500;
const CHILDREN = 200;
const CHANGES = 20;

/** Shows the state of a thread. */
export class StateView {
  #root = new Node("state", {});
  #tree = make("div", { className: "st-tree" });
  #changes = make("ol", { className: "st-changes" });
  #history;
  #editor;
  #thread;
  #state;
  #seen = 0;
  #last;

  /** `calls.edit(state)` is called with the state that the person wants the next run to have. */
  constructor(container, { edit }) {
    this.#editor = new StateEditor(edit);
    this.#tree.append(this.#root.element);
    this.#root.open();
    const summary = make("summary", {}, "Changes");
    this.#history = make("details", { className: "st-history", hidden: true }, summary, this.#changes);
    container.append(make("h2", {}, "State"), this.#tree, this.#editor.element, this.#history);
  }

  /** Draw the state of `thread` if it has changed, and mark what its last patches changed. */
  draw(thread) {
    this.#editor.draw(thread);
    const { patches = [], changes = 0 } = thread;
    const isOther = thread !== this.#thread;
    if (!isOther && thread.state === this.#state && changes === this.#seen) return;
    const fresh = isOther ? [] : patches.slice(patches.lastIndexOf(this.#last) + 1);
    const marked = this.#root.update(thread.state);
    this.#unmark();
    // A snapshot, and an edit by the person, do not name what they change.
    const seen = isOther || fresh.at(-1)?.patch ? [] : marked;
    const named = fresh.flatMap(({ patch = [] }) => patch.map(({ path }) => this.#root.find(tokens(path))));
    for (const node of new Set([...seen, ...named])) node.mark();
    this.#thread = thread;
    this.#state = thread.state;
    this.#seen = changes;
    this.#last = patches.at(-1);
    this.#drawChanges(patches);
  }

  #unmark() {
    for (const element of this.#tree.querySelectorAll("[data-changed]")) element.removeAttribute("data-changed");
  }

  #drawChanges(patches) {
    const items = patches.slice(-CHANGES).reverse().map(({ patch }) => {
      if (!patch) return make("li", {}, make("strong", {}, "snapshot"));
      const lines = patch.map(({ op, path, from, value }) => {
        const given = value === undefined ? (from ?? "") : shownText(value);
        return make("p", {}, make("strong", {}, op), ` ${path || "(whole state)"} ${given}`);
      });
      return make("li", {}, ...lines);
    });
    this.#changes.replaceChildren(...items);
    this.#history.hidden = items.length === 0;
  }
}

function tokens(pointer) {
  return pointer.split("/").slice(1).map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** One value of the tree. The children of an object or a list are made when it is opened. */
class Node {
  element = make("div", { className: "st-node" });
  #key;
  #value;
  #kind;
  #children = new Map();
  #toggle;
  #text;
  #box;
  #limit = CHILDREN;

  constructor(key, value) {
    this.#key = key;
    this.update(value);
  }

  get isOpen() {
    return this.#toggle?.getAttribute("aria-expanded") === "true";
  }

  /** Show another value. Returns the nodes in the page that show something else now. */
  update(value) {
    const kind = Array.isArray(value) ? "list" : typeof value === "object" && value !== null ? "object" : "plain";
    const before = this.#text?.textContent;
    const wasOpen = this.isOpen;
    this.#value = value;
    if (kind !== this.#kind) this.#rebuild(kind);
    setText(this.#text, kind === "plain" ? shownText(value) : sizeText(value, kind));
    if (kind === "plain") this.#text.dataset.type = value === null ? "null" : typeof value;
    if (wasOpen) this.open();
    const changed = before !== undefined && before !== this.#text.textContent ? [this] : [];
    return this.isOpen ? [...changed, ...this.#updateChildren()] : changed;
  }

  open() {
    if (this.isOpen || !this.#toggle) return;
    this.#toggle.setAttribute("aria-expanded", "true");
    this.#updateChildren();
    this.#box.hidden = false;
  }

  /** The node in the page that is nearest to `path`. */
  find(path) {
    const [token, ...rest] = path;
    const key = token === "-" && this.#kind === "list" ? String(this.#value.length - 1) : token;
    return this.#children.get(key)?.find(rest) ?? this;
  }

  /** Mark the node as changed, and flash it if the person does not mind motion. */
  mark() {
    this.element.setAttribute("data-changed", "");
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const row = this.element.firstElementChild;
    const color = getComputedStyle(row).getPropertyValue("--warn-surface");
    row.animate([{ backgroundColor: color }, { backgroundColor: color, offset: 0.4 }, {}], 1500);
  }

  #rebuild(kind) {
    this.#kind = kind;
    this.#children.clear();
    this.#text = make("span", { className: "st-value" });
    const key = make("span", { className: "st-key", textContent: this.#key });
    if (kind === "plain") {
      this.#toggle = this.#box = undefined;
      this.element.replaceChildren(make("p", { className: "st-row" }, key, this.#text));
      return;
    }
    this.#box = make("div", { className: "st-children", hidden: true });
    this.#toggle = make("button", { type: "button", className: "st-row st-toggle" }, key, this.#text);
    this.#toggle.setAttribute("aria-expanded", "false");
    this.#toggle.addEventListener("click", () => (this.isOpen ? this.#close() : this.open()));
    this.element.replaceChildren(this.#toggle, this.#box);
  }

  #close() {
    this.#toggle.setAttribute("aria-expanded", "false");
    this.#box.hidden = true;
    this.#box.replaceChildren();
    this.#children.clear();
  }

  /** Bring the children up to date. Returns those that are new or show something else. */
  #updateChildren() {
    const keys = Object.keys(this.#value);
    const shown = keys.slice(0, this.#limit);
    const wanted = new Set(shown);
    const changed = [];
    for (const [key, node] of this.#children) {
      if (wanted.has(key)) continue;
      node.element.remove();
      this.#children.delete(key);
    }
    this.#box.querySelector(":scope > .st-more")?.remove();
    for (const [at, key] of shown.entries()) {
      const held = this.#children.get(key);
      const node = held ?? new Node(key, this.#value[key]);
      changed.push(...(held ? held.update(this.#value[key]) : [node]));
      this.#children.set(key, node);
      if (this.#box.children[at] !== node.element) this.#box.insertBefore(node.element, this.#box.children[at] ?? null);
    }
    if (keys.length > shown.length) this.#box.append(this.#moreButton(keys.length - shown.length));
    return changed;
  }

  #moreButton(left) {
    const label = `Show ${Math.min(left, CHILDREN)} more (${left} left)`;
    const more = make("button", { type: "button", className: "st-more" }, label);
    more.addEventListener("click", () => {
      this.#limit += CHILDREN;
      this.#updateChildren();
    });
    return more;
  }
}

function shownText(value) {
  const text = JSON.stringify(value) ?? "";
  return text.length > LONG_TEXT ? `${text.slice(0, LONG_TEXT)}… (${text.length} characters)` : text;
}

function sizeText(value, kind) {
  const count = Object.keys(value).length;
  const words = `${count} ${kind === "list" ? "item" : "key"}${count === 1 ? "" : "s"}`;
  return kind === "list" ? `[${words}]` : `{${words}}`;
}
