// The questions to the person: the open interrupts of a thread, else the open calls of the page's own tools.

import { timeOf } from "./choices.js";
import { callCard, interruptCard } from "./cards.js";
import { make, setText } from "./dom.js";

// Keys that are pressed before the person can have seen the question do not answer it.
const UNSEEN_MS = 500;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Shows a card for each open question, and sends all answers together once the last one is given. */
export class Questions {
  #box;
  #actions;
  #progress = make("p", { className: "question-note" });
  #refusal = make("p", { className: "question-refused", hidden: true });
  #list = make("div", { className: "question-list" });
  /** The cards by what they ask: {card, entry?, touched}. They stay as they are while their answers are on the way. */
  #cards = new Map();
  #shown = "";
  #sent = false;
  #focused = { at: -Infinity, control: null };
  #takesFocus = false;
  /** The questions as they were last drawn, and whether they have not had the focus since they appeared. */
  #asked = "";
  #isNew = true;
  #timer = 0;

  /** `actions`: `answer(answers)` takes the answers to interrupts, `answerCalls(results)` those to calls. */
  constructor(container, actions) {
    this.#box = container;
    this.#actions = actions;
    this.#progress.setAttribute("role", "status");
    this.#refusal.setAttribute("role", "alert");
    container.hidden = true;
    container.append(this.#progress, this.#refusal, this.#list);
    // Who has moved the focus has seen the question.
    container.addEventListener("focusout", () => (this.#focused.control = null));
    for (const type of ["keydown", "keyup"]) container.addEventListener(type, (event) => this.#hold(event), true);
  }

  /** Whether a question is open. */
  get waiting() {
    return !this.#box.hidden;
  }

  draw(thread) {
    const asks = thread.running ? [] : questionsOf(thread);
    this.#awaitExpiry(asks, thread);
    this.#box.hidden = asks.length === 0;
    if (thread.running) {
      this.#shown = this.#asked = "";
      return;
    }
    const shown = JSON.stringify([thread.status, Boolean(thread.capabilities), asks.map(({ key }) => key)]);
    if (this.#shown === shown && !this.#sent) return;
    this.#shown = shown;
    const asked = JSON.stringify(asks.map(({ key }) => key));
    this.#isNew = this.#isNew || this.#sent || this.#asked !== asked;
    this.#asked = asked;
    this.#renew(asks, thread);
    const refused = this.#sent && asks.length > 0 && thread.status === "failed";
    this.#refusal.hidden = !refused;
    const notice = thread.notices.filter(({ kind }) => kind === "error").at(-1);
    this.#refusal.textContent = refused ? (notice?.text ?? "The answer was not accepted.") : "";
    this.#sent = false;
    this.#report();
    if (this.#takesFocus && this.waiting) this.focus();
  }

  /**
   * Move the focus to the first control, once it is drawn, and announce that a question waits. A question that has just
   * appeared is not announced, and takes no focus from a person who is typing.
   */
  focus() {
    this.#takesFocus = !this.waiting;
    if (this.#takesFocus) return;
    const isNew = this.#isNew;
    this.#isNew = false;
    if (isNew && isTyping()) return;
    if (!isNew) this.#progress.textContent = "Answer the question first.";
    this.#focusFirst();
  }

  #focusFirst() {
    const open = [...this.#cards.values()].find(({ entry }) => !entry);
    open?.card.focus();
    this.#focused = { at: performance.now(), control: document.activeElement };
  }

  #renew(asks, thread) {
    const before = this.#cards;
    this.#cards = new Map();
    for (const ask of asks) {
      const held = before.get(ask.key);
      const stays = held && (held.touched || held.known === Boolean(thread.capabilities));
      const current = stays ? held : this.#make(ask, thread);
      if (this.#sent) {
        current.entry = undefined;
        current.card.open();
      }
      this.#cards.set(ask.key, current);
    }
    const elements = [...this.#cards.values()].map(({ card }) => card.element);
    const shown = this.#list.children;
    if (elements.length === shown.length && elements.every((one, at) => shown[at] === one)) return;
    const hadFocus = this.#list.contains(document.activeElement);
    this.#list.replaceChildren(...elements);
    if (hadFocus && this.waiting) this.#focusFirst();
  }

  #make(ask, thread) {
    const { build, ids } = ask;
    const held = { touched: false, known: Boolean(thread.capabilities), interrupt: ids.interruptId !== undefined };
    const give = (entry, label) => {
      held.entry = { ...ids, ...entry };
      held.touched = true;
      held.card.close(label);
      this.#next();
    };
    const takeBack = () => {
      held.entry = undefined;
      held.card.open();
      held.card.focus();
      this.#report();
    };
    held.card = build(ask, thread, give, takeBack);
    held.card.element.addEventListener("input", () => (held.touched = true));
    return held;
  }

  /** Go on to the next question; after the last one, send all answers. */
  #next() {
    const all = [...this.#cards.values()];
    this.#report();
    const open = all.find(({ entry }) => !entry);
    if (open) {
      open.card.focus();
      return;
    }
    const entries = all.map(({ entry }) => entry);
    this.#sent = true;
    if (all[0].interrupt) this.#actions.answer(entries);
    else this.#actions.answerCalls(entries);
  }

  #report() {
    const all = [...this.#cards.values()];
    const given = all.filter(({ entry }) => entry).length;
    setText(this.#progress, all.length > 1 ? `${given} of ${all.length} answered` : "");
  }

  /** Draw again when the first question expires. If the timer ends too early, that drawing sets it again. */
  #awaitExpiry(asks, thread) {
    clearTimeout(this.#timer);
    const ends = asks.filter((ask) => ask.end && !ask.expired).map(({ end }) => end);
    if (ends.length === 0) return;
    const left = Math.max(Math.min(...ends) - Date.now(), 0);
    this.#timer = setTimeout(() => this.draw(thread), Math.min(left, MAX_TIMER_MS) + 1);
  }

  #hold(event) {
    const { at, control } = this.#focused;
    const unseen = event.target === control && performance.now() - at < UNSEEN_MS;
    if (!unseen || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Whether the person has begun to write something elsewhere, which must not end up in an answer. */
function isTyping() {
  return Boolean(document.activeElement?.matches("textarea, input") && document.activeElement.value);
}

/**
 * Return what `thread` asks: [{key, value, build, ids, end, expired}], `end` in milliseconds. Interrupts come first,
 * because a run must answer them all.
 */
function questionsOf({ id, interrupts, pendingCalls = [] }) {
  if (interrupts.length > 0) {
    const now = Date.now();
    return interrupts.map((value) => {
      const end = timeOf(value.expiresAt);
      const expired = end <= now;
      const key = JSON.stringify([id, value, expired]);
      return { key, value, build: interruptCard, ids: { interruptId: value.id }, end, expired };
    });
  }
  return pendingCalls.map((value) => ({
    key: JSON.stringify([id, value.id]),
    value,
    build: callCard,
    ids: { toolCallId: value.id },
  }));
}
