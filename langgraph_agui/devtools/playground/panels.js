// The panels beside the conversation: hidden until asked for on a narrow page; on a wide one the details have the width
// that the person gives them, or the whole page.

import { storedWidth, storeWidth } from "./store.js";

const STEP = 32;
const LEAST = 260;
// The least width of the conversation.
const BESIDE = 360;

/** Show or hide the panel with the id `id`; only a narrow page hides them. */
export function showPanel(id, open) {
  document.getElementById(id).classList.toggle("open", open);
  document.querySelector(`[aria-controls=${id}].toggle`).setAttribute("aria-expanded", String(open));
}

/** Let each button of the class `toggle` show and hide its panel. */
export function takeToggles() {
  for (const button of document.querySelectorAll(".toggle")) {
    const id = button.getAttribute("aria-controls");
    button.addEventListener("click", () => showPanel(id, !document.getElementById(id).classList.contains("open")));
  }
}

/** Let the person drag `handle`, the edge of the last of the `columns`, or move it by the arrow keys. */
export function takeWidth(columns, handle) {
  const panel = handle.parentElement;
  const most = () => Math.max(LEAST, columns.clientWidth - columns.firstElementChild.offsetWidth - BESIDE);
  const set = (wanted) => {
    const width = Math.round(Math.max(LEAST, Math.min(wanted, most())));
    columns.style.setProperty("--details", `${width}px`);
    handle.setAttribute("aria-valuenow", String(width));
    handle.setAttribute("aria-valuemax", String(most()));
    return width;
  };
  const reset = () => {
    columns.style.removeProperty("--details");
    handle.setAttribute("aria-valuenow", String(panel.offsetWidth));
    handle.setAttribute("aria-valuemax", String(most()));
    storeWidth(null);
  };
  handle.setAttribute("aria-valuemin", String(LEAST));
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    handle.focus();
  });
  handle.addEventListener("pointermove", (event) => {
    if (handle.hasPointerCapture(event.pointerId)) set(columns.getBoundingClientRect().right - event.clientX);
  });
  handle.addEventListener("lostpointercapture", () => storeWidth(panel.offsetWidth));
  handle.addEventListener("dblclick", reset);
  handle.addEventListener("keydown", (event) => {
    const width = panel.offsetWidth;
    const wanted = { ArrowLeft: width + STEP, ArrowRight: width - STEP, Home: LEAST, End: most() }[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    storeWidth(set(wanted));
  });
  const stored = storedWidth();
  if (stored) set(stored);
  else reset();
}

/** Let `button` give the details the whole page, where they are the main part, and take it from them again. */
export function takeFull(columns, button) {
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    const full = columns.classList.toggle("full");
    button.setAttribute("aria-pressed", String(full));
    button.parentElement.role = full ? "main" : "complementary";
  });
}
