// What a page that is loaded again still knows: who the subagents of its thread were.

const KEY = "subagents";

/** Keep the subagents of `thread` for this tab, as far as the browser allows it. */
export function keepSubagents({ id, subagents }) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ id, subagents: [...subagents.values()] }));
  } catch {
    // Without storage they are nameless after a reload.
  }
}

/** Return the subagents that were kept of the thread `id`. */
export function keptSubagents(id) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY));
    return kept?.id === id ? kept.subagents : [];
  } catch {
    return [];
  }
}
