// Building elements. Data only ever becomes text nodes, so nothing that an agent sends is read as markup.

/** Create an element; `properties` are set on it, `children` are elements or text. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

/** A button with a text. */
export function button(text, act, className = "") {
  const element = make("button", { type: "button", className, textContent: text });
  element.addEventListener("click", act);
  return element;
}

/** Tell those around `element` that what it holds may have changed. */
export function changed(element) {
  element.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Return `control` with a label. Within the label, the options of a list would be part of its name. */
export function labelled(text, control) {
  control.id ||= `control-${(labels += 1)}`;
  return make("div", { className: "labelled" }, make("label", { htmlFor: control.id }, text), control);
}

let labels = 0;

/** Set an element's text, leaving it alone (and a selection in it intact) when it is the same already. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Append to streamed text instead of replacing it, so that a selection survives while it grows. */
export function growText(element, text) {
  const shown = element.textContent;
  if (shown === text) return;
  if (shown !== "" && text.startsWith(shown)) element.append(text.slice(shown.length));
  else element.textContent = text;
}

/**
 * Return a function that keeps the end of `box` in view, unless the person has scrolled away from it. Then the button
 * `jump` is shown, which goes back to the end.
 */
export function stickToEnd(box, jump) {
  let follow = true;
  let last = 0;
  box.addEventListener("scroll", () => {
    // The event comes late: more may have been added since, so only a move upwards means "scrolled away".
    if (box.scrollHeight - box.scrollTop - box.clientHeight < 40) follow = true;
    else if (box.scrollTop < last) follow = false;
    last = box.scrollTop;
    jump.hidden = follow;
  });
  const stick = (force = false) => {
    follow ||= force === true;
    if (follow) box.scrollTop = box.scrollHeight;
    jump.hidden = follow;
  };
  jump.addEventListener("click", () => {
    stick(true);
    box.focus();
  });
  new ResizeObserver(() => stick()).observe(box);
  return stick;
}

/** JSON text laid out for reading, on one line if it is short; text that is not JSON comes back as it is. */
export function pretty(text) {
  try {
    const value = JSON.parse(text);
    if (typeof value !== "object") return text;
    const lines = JSON.stringify(value, null, 2);
    const line = lines.replaceAll(/\n */g, " ");
    return line.length <= 76 ? line : lines;
  } catch {
    return text;
  }
}

/** Whether `text` may need a box that scrolls, also on a phone. */
export function isLong(text) {
  return text.length > 240 || text.split("\n").length > 8;
}

/** The readable form of a message's content: text, with a marker for each part that is not text, or JSON. */
export function contentText(content) {
  if (content === undefined || content === null) return "";
  if (!Array.isArray(content)) return plain(content);
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}

/** Show any JSON value as short text. */
export function plain(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
