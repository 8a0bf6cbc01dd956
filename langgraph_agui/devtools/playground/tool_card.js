// The elements of tool calls, subagents and activities. Each has `facts(item)`, the values that `update(item)` shows.

import { make, plain, pretty, setText } from "./dom.js";
import { resultElements, textBox } from "./media.js";
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

/** A tool call: its arguments, its output as it comes, the subagents that it runs, and its result. */
export function toolItem({ list }) {
  const name = make("code", { className: "name" });
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
  const head = make("summary", {}, name, runner, state);
  const element = make("details", { className: "item tool", open: true }, head, ...parts);
  let shown = {};
  return {
    element,
    facts: ({ call, state: status, result: answer, output: live, reason: why }) => [
      call.function.name, call.function.arguments, status, why,
      answer?.content, answer?.error, live?.output, live?.status,
    ],
    update(item) {
      const { name: called, arguments: text } = item.call.function;
      setText(name, called);
      runner.hidden = item.call.metadata?.runBy !== "provider";
      setState(element, state, item.state);
      const written = item.state === "writing" ? text : pretty(text);
      if (shown.args !== written) args.set(...(written === "" ? [] : [textBox(written)]));
      if (item.output) output.set(textBox(outputText(item.output.output)));
      else output.set();
      setState(output.element, outputState, item.output?.status);
      const rejected = item.state === "rejected";
      reason.set(...(rejected && item.reason ? [textBox(item.reason)] : []));
      const { content, error } = item.result ?? {};
      const answer = item.result && (hasContent(content) ? content : error || "(empty)");
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
export function subagentItem({ list }) {
  const name = make("strong", { className: "name" });
  const task = make("span", { className: "task" });
  const state = make("span", { className: "pill" });
  const inner = make("div", { className: "items" });
  const inside = list(inner);
  const problem = make("p", { className: "problem" });
  const summary = make("summary", {}, name, task, state);
  const element = make("details", { className: "item subagent", open: true }, summary, inner, problem);
  return {
    element,
    facts: ({ subagent }) => [subagent.id, subagent.name, subagent.description, subagent.status, subagent.problem],
    update({ subagent }) {
      setText(name, subagent.name);
      setText(task, subagent.description ?? "");
      task.title = subagent.description ?? "";
      name.title = subagent.id;
      setState(element, state, subagent.status);
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
