// The conversation as the page shows it: one element per message, tool call and notice, updated in place.
//
// `items.js` decides what is shown and where, `messages.js` and `tool_card.js` make the elements.

import { activityItem, subagentItem, toolItem } from "./tool_card.js";
import { listItems } from "./items.js";
import { mediaItem, noticeItem, reasoningItem, summaryItem, textItem } from "./messages.js";
import { same } from "./schema.js";

const CREATE = {
  text: textItem,
  reasoning: reasoningItem,
  tool: toolItem,
  subagent: subagentItem,
  activity: activityItem,
  media: mediaItem,
  summary: summaryItem,
  notice: noticeItem,
};

/** Draws a thread into a container and keeps it up to date. */
export class Transcript {
  #container;
  #list;
  /** The drawing that waits for the next frame. */
  #changes = [];

  /**
   * `actions`: {edit(messageId, text), regenerate(messageId), retry(), render(texts) -> promise of HTML,
   * elapsed(subagentId) -> milliseconds or undefined}.
   */
  constructor(container, actions) {
    this.#container = container;
    const page = {
      actions,
      list: (box) => new List(box, page),
      filled: (fill) => this.#keepEnd(fill),
    };
    this.#list = page.list(container);
  }

  /** Forget everything shown. */
  clear() {
    this.#list.draw([]);
  }

  /** Show `thread` as it is now. */
  draw(thread) {
    this.#list.draw(listItems(thread));
    this.#container.setAttribute("aria-busy", String(thread.running));
  }

  /**
   * Change elements between two drawings, in the next frame: if the end is in view, it stays so. All changes of a frame
   * are made at once, because the browser lays the whole conversation out to measure it.
   */
  #keepEnd(change) {
    return new Promise((done) => {
      if (this.#changes.length === 0) requestAnimationFrame(() => this.#makeChanges());
      this.#changes.push(() => done(change()));
    });
  }

  #makeChanges() {
    const box = this.#container;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    for (const change of this.#changes.splice(0)) change();
    if (atEnd) box.scrollTop = box.scrollHeight;
  }
}

/** Keeps the elements of a container in step with a list of items: one for each, in their order. */
class List {
  #box;
  #page;
  #shown = new Map();

  constructor(box, page) {
    this.#box = box;
    this.#page = page;
  }

  draw(items) {
    const wanted = new Set(items.map((item) => item.key));
    for (const [key, { element }] of this.#shown) {
      if (wanted.has(key)) continue;
      element.remove();
      this.#shown.delete(key);
    }
    let previous = null;
    for (const item of items) {
      const shown = this.#shown.get(item.key) ?? CREATE[item.kind](this.#page);
      this.#shown.set(item.key, shown);
      // Unchanged items are left alone, so that a long conversation costs nothing while its end streams. The client
      // copies all messages for each event, so facts are compared as values.
      const facts = shown.facts(item);
      if (!shown.drawn || facts.some((fact, at) => !same(fact, shown.drawn[at]))) shown.update(item);
      shown.drawn = facts;
      shown.inside?.(item);
      const place = previous ? previous.nextSibling : this.#box.querySelector(":scope > .item");
      if (place !== shown.element) this.#box.insertBefore(shown.element, place);
      previous = shown.element;
    }
    this.#box.hidden = items.length === 0 && this.#box.matches(".items");
  }
}
