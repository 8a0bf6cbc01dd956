// The elements of tool calls, subagents and activities. Each has `facts(item)`, the values that `update(item)` shows.

import { make, plain, pretty, setText } from "./dom.js";
import { resultElements, textBox } from "./media.js";
import { seconds } from "./recording.js";
import { same } from "./schema.js";

const LABELS = {
  writing: "writing arguments",
  running: "running",
  waiting: "waiting for you",
  done: "done",
  failed: "failed",
  rejected: "rejected",
  stopped: "stopped",
  unanswered: "no result",
};

/** Show a status, which also styles the head of `element`. */
function setState(element, pill, state) {
  element.dataset.state = state ?? "";
  setText(pill, LABELS[state] ?? plain(state ?? ""));
  pill.hidden = state === undefined;
}

/** A part of a tool call under a label. `set(...children)` shows them; without any the part is hidden. */
function callPart(title, className) {
  const body = make("div", { className });
  const label = make("p", { className: "label" }, title);
  const element = make("div", { className: "part" }, label, body);
  return {
    element,
    label,
    set(...children) {
      element.hidden = children.length === 0;
      body.replaceChildren(...children);
    },
  };
}

/**
 * Return the rest of the head of a call or of a subagent: {line, elapsed, facts(item), update(item)}. In a team, where
 * agents stand in a row, the page shows no more of each until the person opens it.
 */
function teamHead(element, summary, elapsedOf) {
  const line = make("span", { className: "line" });
  const elapsed = make("span", { className: "elapsed" });
  let touched = false;
  let wasTeam;
  summary.addEventListener("click", () => (touched = true));
  const timesOf = (item) => (item.subagents ?? [item]).map(({ subagent }) => elapsedOf(subagent.id) ?? 0);
  const textOf = (item) => seconds(Math.max(0, ...timesOf(item)));
  return {
    line,
    elapsed,
    facts: (item) => [item.team, item.line, textOf(item)],
    update(item) {
      const isTeam = item.team === true;
      if (isTeam !== wasTeam && !touched) element.open = !isTeam;
      wasTeam = isTeam;
      element.classList.toggle("team", isTeam);
      setText(line, item.line ?? "");
      setText(elapsed, textOf(item));
    },
  };
}

/** A tool call: its arguments, its output as it comes, the subagents that it runs, and its result. */
export function toolItem({ list, actions }) {
  const name = make("code", { className: "name" });
  const agents = make("strong", { className: "agents" });
  const runner = make("span", { className: "runner", hidden: true }, "run by the provider");
  const state = make("span", { className: "pill" });
  const outputState = make("span", { className: "pill" });
  const [args, output] = [callPart("Arguments", "arguments"), callPart("Output", "output")];
  const [reason, result, read] = [callPart("Reason", "reason"), callPart("Result", "result"), callPart("", "read")];
  output.label.append(" ", outputState);
  const inner = make("div", { className: "items" });
  const inside = list(inner);
  const label = make("summary", {}, "What the model reads");
  const folded = make("details", { className: "model-reads" }, label, read.element);
  const parts = [args.element, output.element, inner, reason.element, result.element, folded];
  const summary = make("summary");
  const element = make("details", { className: "item tool", open: true }, summary, ...parts);
  const head = teamHead(element, summary, actions.elapsed);
  summary.append(name, agents, runner, head.line, head.elapsed, state);
  let shown = {};
  return {
    element,
    facts: (item) => {
      const { call, state: status, result: answer, output: live, reason: why, repeats, subagents } = item;
      return [
        call.function.name, call.function.arguments, status, why, repeats,
        answer?.content, answer?.error, live?.output, live?.status,
        namesOf(subagents), ...head.facts(item),
      ];
    },
    update(item) {
      const { name: called, arguments: text } = item.call.function;
      setText(name, called);
      const names = namesOf(item.subagents);
      setText(agents, names);
      name.hidden = item.team === true && names === called;
      runner.hidden = item.call.metadata?.runBy !== "provider";
      setState(element, state, item.state);
      head.update(item);
      const written = item.state === "writing" ? text : pretty(text);
      if (shown.args !== written) args.set(...(written === "" ? [] : [textBox(written)]));
      if (item.output) output.set(textBox(outputText(item.output.output)));
      else output.set();
      setState(output.element, outputState, item.output?.status);
      const rejected = item.state === "rejected";
      reason.set(...(rejected && item.reason ? [textBox(item.reason)] : []));
      const { content, error } = item.result ?? {};
      // The words of the subagent stand above already.
      const words = hasContent(content) ? content : error || "(empty)";
      const answer = item.result && !item.repeats ? words : undefined;
      if (!same(shown.answer, answer) || shown.rejected !== rejected) {
        const elements = answer === undefined ? [] : resultElements(answer);
        result.set(...(rejected ? [] : elements));
        read.set(...(rejected ? elements : []));
        folded.hidden = !rejected || elements.length === 0;
      }
      shown = { args: written, answer, rejected };
    },
    inside: (item) => inside.draw(item.subagents),
  };
}

function namesOf(subagents) {
  return subagents.map(({ subagent }) => subagent.name).join(", ");
}

function hasContent(content) {
  return content !== undefined && content !== null && content.length > 0;
}

/** Join the parts of a tool's output: texts as they come, anything else as JSON on a line of its own. */
function outputText(parts) {
  return parts.reduce((text, part) => {
    if (typeof part === "string") return text + part;
    return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${plain(part)}\n`;
  }, "");
}

/** A subagent with its own items. */
export function subagentItem({ list, actions }) {
  const name = make("strong", { className: "name" });
  const task = make("span", { className: "task" });
  const state = make("span", { className: "pill" });
  const inner = make("div", { className: "items" });
  const inside = list(inner);
  const problem = make("p", { className: "problem" });
  const summary = make("summary");
  const element = make("details", { className: "item subagent", open: true }, summary, inner, problem);
  const head = teamHead(element, summary, actions.elapsed);
  summary.append(name, task, head.line, head.elapsed, state);
  return {
    element,
    facts: (item) => {
      const { id, name: called, description, status, problem: what } = item.subagent;
      return [id, called, description, status, what, ...head.facts(item)];
    },
    update(item) {
      const { subagent } = item;
      setText(name, subagent.name);
      setText(task, subagent.description ?? "");
      task.title = subagent.description ?? "";
      name.title = subagent.id;
      setState(element, state, subagent.status);
      head.update(item);
      setText(problem, subagent.problem ?? "");
      problem.hidden = subagent.problem === undefined;
    },
    inside: ({ items }) => inside.draw(items),
  };
}

/** An activity, as JSON. */
export function activityItem() {
  const kind = make("summary");
  const body = make("div");
  const element = make("details", { className: "item activity", open: true }, kind, body);
  return {
    element,
    facts: ({ message }) => [message.activityType, message.content],
    update({ message }) {
      setText(kind, message.activityType);
      body.replaceChildren(textBox(pretty(plain(message.content))));
    },
  };
}
