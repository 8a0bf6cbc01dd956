// The inspector: the events, times and messages of a thread's runs, or of a file, and the steps through a run.

import { MessagesView } from "./compare.js";
import { button, labelled, make, setText } from "./dom.js";
import { EventList } from "./events.js";
import { eventsOf, fromFile, inputOf, Recording, toCurl, toFile } from "./recording.js";
import { Thread } from "./thread.js";
import { TimingView } from "./timing.js";

const TABS = ["Timing", "Events", "Messages"];

/** Shows what came over the wire. See each method for when the page calls it. */
export class Inspector {
  #calls;
  #live = new Recording();
  #recording = this.#live;
  /** The run that the person chose; undefined for the last one. */
  #chosen;
  /** The number of the event that the person has stepped to; undefined for the present. */
  #at;
  #tab = TABS[0];
  #parts = {};
  #list;
  #timing;
  #messages;

  /**
   * `calls` are {verify(input, events), show(thread)}: `verify` resolves to the findings of the verifier, and `show`
   * has the page show a thread as it was, or with null the present one.
   */
  constructor(container, calls) {
    this.#calls = calls;
    const summary = make("div");
    container.append(make("h2", {}, "Inspector"), this.#toolbar(), this.#stepper(), summary, this.#tabs());
    const [timing, events, messages] = TABS.map((name) => this.#parts[name].panel);
    this.#list = new EventList(events, summary, () => this.#select("Events"));
    this.#timing = new TimingView(timing, (entry) => this.#list.reveal(entry));
    this.#messages = new MessagesView(messages, Thread.fold);
    this.#show(this.#live);
  }

  /** A run of `input` at `url` begins, or a look at its thread. */
  begin(input, url) {
    if (this.#recording !== this.#live || this.#at !== undefined) this.backToNow();
    this.#chosen = undefined;
    this.#live.begin(structuredClone(input), url);
    this.#drawRuns();
  }

  /** An event of the run came. */
  add(event) {
    this.#live.add(event, performance.now() - this.#live.runs.at(-1).start);
  }

  /** The run's stream has ended, whatever ended it; `refused` says that its last event is not valid. */
  finish(refused) {
    const run = this.#live.runs.at(-1);
    this.#live.end(performance.now() - run.start);
    if (run.complete || refused) this.#check(run);
    else run.unchecked = run.entries.length > 0 ? "it broke off before the run had ended." : "it has no events.";
    this.#list.drawFindings(this.#run);
    this.#drawAll();
  }

  /** Draw what has changed. */
  draw() {
    this.#drawAll();
  }

  /** Forget the thread: another one begins. */
  clear() {
    this.#live = new Recording();
    this.#show(this.#live);
  }

  /** How many milliseconds the subagent `id` of what is shown has worked; undefined if that is unknown. */
  workedFor(id) {
    return this.#recording.workedFor(id);
  }

  /** Stop showing a file or the past. */
  backToNow() {
    if (this.#recording !== this.#live) this.#show(this.#live);
    this.#at = undefined;
    this.#list.markStep(undefined);
    this.#drawAll();
    this.#calls.show(null);
  }

  get #run() {
    return this.#chosen ?? this.#recording.runs.at(-1);
  }

  /** Have `recording` shown, from its beginning. */
  #show(recording, words = "") {
    this.#recording = recording;
    this.#chosen = this.#at = undefined;
    this.#list.show(recording);
    setText(this.#parts.source, words);
    this.#parts.problem.hidden = true;
    this.#drawRuns();
    this.#drawAll();
  }

  #drawAll() {
    if (this.#tab === "Events") this.#list.draw();
    if (this.#tab === "Timing") this.#timing.draw(this.#recording);
    if (this.#tab === "Messages") this.#messages.draw(this.#run);
    this.#drawStepper();
    const { exporting, copying } = this.#parts;
    exporting.disabled = this.#recording.runs.every((run) => run.entries.length === 0);
    copying.disabled = !this.#run?.url;
  }

  async #check(run) {
    try {
      run.findings = await this.#calls.verify(run.input, eventsOf(run));
    } catch (error) {
      run.unchecked = error.message;
    }
    if (this.#recording.runs.includes(run)) this.#list.drawFindings(this.#run);
  }

  // -- the toolbar ------------------------------------------------------------------------------------------------

  #toolbar() {
    const runs = make("select");
    const choice = labelled("Run", runs);
    const exporting = button("Export", () => save("run.jsonl", toFile(this.#recording.runs)));
    const file = make("input", { type: "file", className: "insp-file", hidden: true });
    const opening = button("Open", () => file.click());
    const copying = button("Copy as curl", () => this.#copy(toCurl(this.#run, location.href)));
    const source = make("p", { className: "insp-note" });
    source.setAttribute("role", "status");
    const problem = make("p", { className: "insp-problem", hidden: true });
    problem.setAttribute("role", "alert");
    const copied = make("div", { className: "insp-copied", hidden: true });
    Object.assign(this.#parts, { runs, choice, exporting, copying, source, problem, copied });
    runs.addEventListener("change", () => {
      this.#chosen = this.#recording.runs[Number(runs.value)];
      if (this.#at !== undefined) this.#stepTo(this.#run.entries.length);
      this.#list.drawFindings(this.#run);
      this.#drawAll();
    });
    file.addEventListener("change", () => this.#open(file));
    file.setAttribute("aria-label", "A recorded run");
    const tools = make("div", { className: "insp-tools" }, choice, exporting, opening, copying, file);
    return make("div", {}, tools, source, problem, copied);
  }

  #drawRuns() {
    const { runs, choice } = this.#parts;
    runs.replaceChildren(...this.#recording.runs.map((run, index) => new Option(String(run.number), String(index))));
    runs.value = String(this.#recording.runs.indexOf(this.#run));
    choice.hidden = this.#recording.runs.length < 2;
    this.#list.drawFindings(this.#run);
  }

  async #open(input) {
    const [file] = input.files;
    const { problem } = this.#parts;
    if (!file) return;
    try {
      const recording = fromFile(await file.text());
      const count = recording.runs.reduce((sum, run) => sum + run.entries.length, 0);
      const runs = recording.runs.length === 1 ? "1 run" : `${recording.runs.length} runs`;
      this.#show(recording, `${file.name}: ${runs}, ${count} events.`);
      this.#stepTo(this.#run.entries.length);
      for (const run of recording.runs) await this.#check(run);
    } catch (error) {
      problem.textContent = `${file.name} cannot be opened. ${error.message}`;
      problem.hidden = false;
    }
    input.value = "";
  }

  async #copy(text) {
    const { copied, source } = this.#parts;
    try {
      await navigator.clipboard.writeText(text);
      copied.hidden = true;
      setText(source, "The command has been copied.");
    } catch {
      // The browser does not let this page write the clipboard: the person copies it.
      const box = make("textarea", { value: text, readOnly: true, rows: 6 });
      box.setAttribute("aria-label", "The command to copy");
      copied.replaceChildren(box, button("Close", () => (copied.hidden = true)));
      copied.hidden = false;
      box.focus();
      box.select();
    }
  }

  // -- stepping ---------------------------------------------------------------------------------------------------

  #stepper() {
    const slider = make("input", { type: "range", min: "0", step: "1" });
    slider.setAttribute("aria-label", "Event of the run");
    const here = () => this.#at ?? this.#run.entries.length;
    const back = button("Previous", () => this.#stepTo(here() - 1));
    const next = button("Next", () => this.#stepTo(here() + 1));
    const now = button("Back to now", () => this.backToNow());
    const place = make("p", { className: "insp-place" });
    place.setAttribute("role", "status");
    let frame = 0;
    let wanted;
    slider.addEventListener("input", () => {
      wanted = Number(slider.value); // a drawing before the frame puts the slider back
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        this.#stepTo(wanted);
      });
    });
    Object.assign(this.#parts, { slider, back, next, now, place });
    const box = make("div", { className: "insp-stepper" }, back, slider, next, now, place);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Step through the run");
    return box;
  }

  #drawStepper() {
    const { slider, back, next, now, place } = this.#parts;
    const run = this.#run;
    const length = run?.entries.length ?? 0;
    const at = this.#at ?? length;
    const ready = length > 0 && run.ended !== undefined;
    if (slider.max !== String(length)) slider.max = String(length);
    if (slider.value !== String(at)) slider.value = String(at);
    slider.disabled = !ready;
    back.disabled = !ready || at === 0;
    next.disabled = !ready || at === length;
    now.hidden = this.#at === undefined && this.#recording === this.#live;
    const type = at > 0 ? run.entries[at - 1].event.type : "before the run";
    setText(place, this.#at === undefined ? "" : `Event ${at} of ${length}: ${type}`);
    slider.setAttribute("aria-valuetext", `${at} of ${length}`);
  }

  /** Show the page as it was after event number `at`. */
  async #stepTo(at) {
    const run = this.#run;
    const to = (this.#at = Math.max(0, Math.min(at, run.entries.length)));
    this.#list.markStep(run.entries[to - 1]);
    this.#drawAll();
    const past = await Thread.fold(inputOf(run), eventsOf(run, to));
    if (run === this.#run && to === this.#at) this.#calls.show(past);
  }

  // -- tabs -------------------------------------------------------------------------------------------------------

  #tabs() {
    const list = make("div", { className: "insp-tabs" });
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Inspector");
    const panels = TABS.map((name) => {
      const id = `insp-${name.toLowerCase()}`;
      const tab = button(name, () => this.#select(name));
      tab.id = `${id}-tab`;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", id);
      list.append(tab);
      const panel = make("div", { id, className: "insp-panel" });
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      this.#parts[name] = { tab, panel };
      return panel;
    });
    list.addEventListener("keydown", (event) => {
      const at = TABS.indexOf(this.#tab);
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.#select(TABS.at(to % TABS.length));
      this.#parts[this.#tab].tab.focus();
    });
    this.#markTab();
    return make("div", {}, list, ...panels);
  }

  #select(name) {
    this.#tab = name;
    this.#markTab();
    this.#drawAll();
  }

  #markTab() {
    for (const name of TABS) {
      const { tab, panel } = this.#parts[name];
      const selected = name === this.#tab;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
      panel.hidden = !selected;
    }
  }
}

/** Have the browser save `text` as a file. */
function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  make("a", { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
