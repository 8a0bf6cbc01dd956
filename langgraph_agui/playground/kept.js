// Stores the names of a thread's subagents, so that a reloaded page still knows them.

const KEY = "subagents";

/** Store the subagents of `thread` for this tab, if the browser allows it. */
export function keepSubagents({ id, subagents }) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ id, subagents: [...subagents.values()] }));
  } catch {
    // Without storage they have no names after a reload.
  }
}

/** Return the stored subagents of the thread `id`. */
export function keptSubagents(id) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY));
    return kept?.id === id ? kept.subagents : [];
  } catch {
    return [];
  }
}
