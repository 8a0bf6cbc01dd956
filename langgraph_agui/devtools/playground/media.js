// Pictures, sounds and files in the content of messages and in the results of tools.

import { isLong, make, plain, pretty } from "./dom.js";
import { bytes } from "./recording.js";

const SHOWN = /^data:(image|audio|video)\/[\w.+-]+;base64,[A-Za-z0-9+/=\s]*$/;
const BASE64 = /^[A-Za-z0-9+/=\s]+$/;
const LINK = /^https?:/i;

/**
 * Return {kind, url, name, file} of a part of AG-UI, LangChain or a provider; nothing if it is no medium. `file` is the
 * data of a document.
 */
export function mediaOf(part) {
  if (typeof part !== "object" || part === null) return undefined;
  const kind = /^(?:input_)?(image|audio|video|document|file)(?:_url)?$/.exec(part.type)?.[1];
  if (!kind) return undefined;
  const inner = part[`${kind}_url`] ?? part[part.type] ?? part.source ?? part;
  const held = typeof inner === "string" ? { url: inner } : inner;
  const data = held.base64 ?? held.data ?? (held.type === "data" ? held.value : undefined);
  const usual = held.format ? `${kind}/${held.format}` : DEFAULTS[kind];
  const mime = held.mimeType ?? held.mime_type ?? held.media_type ?? usual;
  const link = held.url ?? (held.type === "url" ? held.value : "");
  const url = typeof data === "string" ? `data:${mime};base64,${data}` : link;
  const { filename, name } = part.metadata ?? part;
  const file = kind === "document" && typeof data === "string" && BASE64.test(data) ? data : undefined;
  return { kind, url: String(url), name: String(filename ?? name ?? ""), file };
}

const DEFAULTS = { image: "image/png", audio: "audio/wav", video: "video/mp4" };

/** Show a medium: inside the page if its data is there, as a link if it is elsewhere, else by its name. */
export function mediaElement({ kind, url, name, file }) {
  const title = name || kind;
  if (file) {
    // Its own media type could make a page of it.
    const href = `data:application/octet-stream;base64,${file}`;
    return make("a", { href, download: title, className: "chip" }, title);
  }
  const shown = SHOWN.exec(url)?.[1];
  if (shown === "image") {
    const image = make("img", { alt: name || "Picture", title: name });
    image.addEventListener("error", () => image.replaceWith(chip(`${title} (cannot be shown)`)));
    image.src = url;
    return image;
  }
  if (shown) {
    const player = make(shown, { controls: true, preload: "metadata", src: url });
    player.setAttribute("aria-label", title);
    return player;
  }
  if (!LINK.test(url)) return chip(title);
  return make("a", { href: url, target: "_blank", rel: "noopener noreferrer", className: "chip" }, name || url);
}

function chip(text) {
  return make("span", { className: "chip" }, text);
}

/** Show a picture, a sound or a file that a model has made, with the words that belong to it. */
export function madeElement(part) {
  const { omitted, metadata } = part ?? {};
  if (omitted) return chip(`${part.type} of ${bytes(omitted.bytes)}: too large to be shown`);
  const media = mediaOf(part);
  if (!media) return chip(plain(part));
  const words = metadata?.transcript ?? metadata?.revised_prompt;
  const caption = typeof words === "string" ? make("figcaption", {}, words) : undefined;
  return make("figure", {}, mediaElement(media), caption);
}

/** Return an element for each source that an answer cites; those with an address on the web are links. */
export function citationElements(citations) {
  return (Array.isArray(citations) ? citations : []).map((citation) => {
    const { url, title, fileId, citedText } = citation ?? {};
    const name = String(title || url || fileId || "source");
    const link = { href: url, target: "_blank", rel: "noopener noreferrer" };
    const source = typeof url === "string" && LINK.test(url) ? make("a", link, name) : make("span", {}, name);
    return make("li", {}, source, typeof citedText === "string" ? make("q", {}, citedText) : undefined);
  });
}

/** Return the text of a content, and its parts that are media. */
export function splitContent(content) {
  if (!Array.isArray(content)) return { text: content ?? "", media: [] };
  const text = content.filter(({ type }) => type === "text").map((part) => part.text);
  return { text: text.join("\n"), media: content.map(mediaOf).filter(Boolean) };
}

/** Return the elements that show the content of a tool's result: texts, JSON laid out for reading, and media. */
export function resultElements(content) {
  return partsOf(content).map((part) => {
    const media = mediaOf(part);
    if (media) return mediaElement(media);
    const text = part?.type === "text" ? part.text : typeof part === "string" ? part : JSON.stringify(part);
    return textBox(pretty(text));
  });
}

function partsOf(content) {
  if (Array.isArray(content)) return content;
  const kind = SHOWN.exec(content)?.[1];
  if (kind) return [{ type: kind, url: content }];
  try {
    const value = JSON.parse(content);
    const parts = Array.isArray(value) ? value : [value];
    if (parts.some(mediaOf)) return parts;
  } catch {
    // It is text.
  }
  return [content];
}

/** Show text as it is; a long one scrolls, also by keyboard. */
export function textBox(text) {
  const box = make("pre", {}, text);
  if (isLong(text)) box.tabIndex = 0;
  return box;
}
