// The box at the bottom: a message and its attachments.

import { make } from "./dom.js";

const MAX_BYTES = 8 * 1024 * 1024;
const KINDS = ["image", "audio", "video"];

/**
 * Reads messages from the form `form`. `actions` has `send(content)`, which returns whether it took the message. One
 * that has to wait stays in the box.
 */
export class Composer {
  #form;
  #text;
  #chips;
  #problem;
  #note;
  #parts = [];
  #actions;

  constructor(form, actions) {
    this.#form = form;
    this.#actions = actions;
    this.#text = form.querySelector("textarea");
    this.#chips = form.querySelector(".attachments");
    this.#problem = form.querySelector(".problem");
    this.#note = form.querySelector(".held");
    this.#note.querySelector("button").addEventListener("click", () => {
      this.release(false);
      this.focus();
    });
    const picker = form.querySelector("input[type=file]");
    form.querySelector(".attach").addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      this.attach([...picker.files]);
      picker.value = "";
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.#text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#send();
    });
    this.#text.addEventListener("input", () => this.#fit());
    this.#text.addEventListener("paste", (event) => {
      if (event.clipboardData.files.length === 0) return;
      event.preventDefault();
      this.attach([...event.clipboardData.files]);
    });
  }

  /** Take files that are dropped on `area`. */
  takeDrops(area) {
    area.addEventListener("dragover", (event) => event.preventDefault());
    area.addEventListener("drop", (event) => {
      event.preventDefault();
      this.attach([...event.dataTransfer.files]);
    });
  }

  focus() {
    this.#text.focus();
  }

  /** Put `text` into the box, and send it. */
  submit(text) {
    this.#text.value = text;
    this.#send();
  }

  /** Say what is wrong below the box; nothing takes it away. */
  report(text) {
    this.#problem.textContent = text ?? "";
    this.#problem.hidden = !text;
  }

  /** Say that the message is sent as soon as the agent is ready for it. */
  hold() {
    this.#note.hidden = false;
  }

  /** Send the message that is held, if there is one and it may go now; else leave it in the box. */
  release(mayGo) {
    if (this.#note.hidden) return;
    this.#note.hidden = true;
    if (mayGo) this.#send();
  }

  /** Add files to the message. */
  async attach(files) {
    this.report();
    for (const file of files) {
      if (file.size > MAX_BYTES) {
        this.report(`${file.name} is too large: a file can have 8 MB.`);
        continue;
      }
      const mimeType = file.type || "application/octet-stream";
      const kind = KINDS.find((one) => mimeType.startsWith(`${one}/`)) ?? "document";
      const source = { type: "data", value: await asBase64(file), mimeType };
      this.#parts.push({ type: kind, source, metadata: { filename: file.name } });
    }
    this.#drawChips();
  }

  #drawChips() {
    this.#chips.replaceChildren(
      ...this.#parts.map((part) => {
        const { filename } = part.metadata;
        const remove = make("button", { type: "button" }, "×");
        remove.setAttribute("aria-label", `Remove ${filename}`);
        remove.addEventListener("click", () => {
          this.#parts = this.#parts.filter((one) => one !== part);
          this.#drawChips();
          this.focus();
        });
        return make("li", {}, make("span", {}, filename), remove);
      }),
    );
    this.#chips.hidden = this.#parts.length === 0;
  }

  #send() {
    const text = this.#text.value.trim();
    if (!text && this.#parts.length === 0) return;
    const content = this.#parts.length === 0 ? text : [...(text ? [{ type: "text", text }] : []), ...this.#parts];
    if (!this.#actions.send(content)) return;
    this.#text.value = "";
    this.#parts = [];
    this.report();
    this.#drawChips();
    this.#fit();
  }

  /** Let the box grow with its text. */
  #fit() {
    this.#text.style.height = "auto";
    this.#text.style.height = `${Math.min(this.#text.scrollHeight + 2, 240)}px`;
  }
}

async function asBase64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}
