// The elements of texts, reasoning and notices. Each has `facts(item)`, the values that `update(item)` shows.

import { copyButton, iconButton } from "./controls.js";
import { button, growText, make, plain, setText } from "./dom.js";
import { GrowingMarkdown } from "./markdown.js";
import { citationElements, madeElement, mediaElement, splitContent } from "./media.js";
import { same } from "./schema.js";

const SUMMED_UP = "The agent has summarized earlier messages. Its model reads the summary instead.";
const SEALED = "This reasoning is here only in encrypted form. It goes back to the model with the next message.";

/** A message: Markdown if an assistant wrote it, else text as it is, with its attachments and buttons. */
export function textItem({ actions, filled }) {
  const body = make("div", { className: "body" });
  const media = make("div", { className: "media" });
  const sources = make("ol", { className: "sources" });
  sources.setAttribute("aria-label", "Sources");
  const element = make("article", { className: "item text" }, body, media, sources);
  let current;
  const edit = iconButton("edit", "Edit", () => openEditor(element, current, actions.edit, edit));
  const again = iconButton("again", "Regenerate", () => actions.regenerate(current.message.id));
  const copy = copyButton("Copy", () => splitContent(current.message.content).text);
  edit.classList.add("change");
  again.classList.add("change");
  element.append(make("div", { className: "message-actions" }, copy, edit, again));
  let markdown;
  return {
    element,
    facts: ({ message, streaming, locked, last }) => [
      message.content, message.role, message.metadata?.citations, streaming, locked, last,
    ],
    update(item) {
      const { message, streaming, locked, last } = item;
      const { text, media: parts } = splitContent(message.content);
      const own = message.role === "user" && !message.subagentRunId;
      element.dataset.role = message.role;
      element.setAttribute("aria-label", own ? "You" : message.role);
      element.classList.toggle("streaming", streaming);
      element.classList.toggle("last", last === true);
      if (message.role === "assistant") {
        markdown ??= new GrowingMarkdown(body, async (source) => (await actions.render([source]))[0], filled);
        markdown.update(text, streaming);
      } else growText(body, text);
      if (!same(current?.message.content, message.content)) media.replaceChildren(...parts.map(mediaElement));
      media.hidden = parts.length === 0;
      sources.replaceChildren(...citationElements(message.metadata?.citations));
      sources.hidden = sources.childElementCount === 0;
      copy.hidden = streaming || text === "";
      edit.hidden = !own || locked;
      again.hidden = last !== true || locked;
      const save = element.querySelector(".editor .primary");
      if (save) save.disabled = locked;
      current = item;
    },
  };
}

/** Let the person write a message anew, in its place. */
function openEditor(element, { message }, save, opener) {
  const box = make("textarea", { value: splitContent(message.content).text, rows: 3, required: true });
  box.setAttribute("aria-label", "Edit your message");
  const submit = make("button", { type: "submit", className: "primary" }, "Save");
  const cancel = make("button", { type: "button" }, "Cancel");
  const form = make("form", { className: "editor" }, box, make("div", { className: "actions" }, cancel, submit));
  const close = () => {
    form.remove();
    element.classList.remove("editing");
  };
  const leave = () => {
    close();
    opener.focus();
  };
  cancel.addEventListener("click", leave);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = box.value.trim();
    if (submit.disabled || text === "") return;
    close();
    save(message.id, text);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      leave();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  element.classList.add("editing");
  element.append(form);
  box.focus();
}

/** The pictures, sounds and files that a model has made. */
export function mediaItem() {
  const media = make("div", { className: "media" });
  const element = make("article", { className: "item made" }, media);
  element.setAttribute("aria-label", "Made by the model");
  return {
    element,
    facts: ({ message }) => [message.content],
    update: ({ message }) => media.replaceChildren(...message.content.parts.map(madeElement)),
  };
}

/** The sign that the agent has summed up what came before. */
export function summaryItem() {
  const element = make("p", { className: "item summed-up" }, SUMMED_UP);
  return { element, facts: () => [], update: () => {} };
}

/** Reasoning: open while it streams, folded afterwards unless the person has opened or folded it. */
export function reasoningItem() {
  const label = make("span");
  const seal = make("span", { className: "seal", title: SEALED }, "sealed");
  const body = make("div", { className: "body" });
  const note = make("p", { className: "seal-note" }, SEALED);
  const summary = make("summary", {}, label, seal);
  const element = make("details", { className: "item reasoning" }, summary, body, note);
  let touched = false;
  let wasStreaming = null;
  summary.addEventListener("click", () => (touched = true));
  return {
    element,
    facts: ({ message, streaming, span }) => [message.content, message.encryptedValue, streaming, span?.end],
    update({ message, streaming, span }) {
      growText(body, message.content);
      if (streaming !== wasStreaming && !touched) element.open = streaming;
      wasStreaming = streaming;
      element.classList.toggle("streaming", streaming);
      seal.hidden = note.hidden = message.content !== "" || !message.encryptedValue;
      setText(label, reasoningLabel(message, streaming, span));
    },
  };
}

function reasoningLabel(message, streaming, span) {
  if (streaming) return "Thinking…";
  if (message.content === "") return "Thought (not shown)";
  const seconds = span?.end ? (span.end - span.start) / 1000 : 0;
  return seconds >= 0.1 ? `Thought for ${seconds.toFixed(1)} s` : "Thought";
}

/** A line that is no message. An error has its code and details, and buttons for what may help. */
export function noticeItem({ actions }) {
  const code = make("code");
  const text = make("span");
  const details = make("dl");
  const retry = button("Retry", () => actions.retry(), "change");
  const headers = button("Set headers", () => actions.setHeaders(), "change");
  const buttons = make("div", { className: "actions" }, headers, retry);
  const element = make("div", { className: "item notice" }, make("p", {}, code, text), details, buttons);
  return {
    element,
    facts: ({ notice, locked }) => [
      notice.kind, notice.text, notice.code, notice.details, notice.retry, notice.headers, locked,
    ],
    update({ notice, locked }) {
      element.dataset.kind = notice.kind;
      if (notice.kind === "error") element.setAttribute("role", "alert");
      setText(code, notice.code ?? "");
      setText(text, notice.code ? `: ${notice.text}` : notice.text);
      const row = ([key, value]) => make("div", {}, make("dt", {}, key), make("dd", {}, plain(value)));
      const rows = (notice.details ?? []).map(row);
      details.replaceChildren(...rows);
      details.hidden = rows.length === 0;
      retry.hidden = !notice.retry || locked;
      headers.hidden = !notice.headers || locked;
      buttons.hidden = retry.hidden && headers.hidden;
    },
  };
}
