/**
 * One session of a conversation: starts and steers its runs, answers its questions, and feeds its items to the view.
 *
 * 1. The session is shown only from its stream, so it looks the same after a restart.
 * 2. The view yields while many items arrive, so that keys are still handled.
 */
import { setImmediate, setTimeout } from "node:timers/promises";
import { hasCalls, isResting } from "../../core/index.js";
import type { Agent, ApprovalDecision, Model, RunResult, Store, StreamItem, UserPart } from "../../index.js";
import { isHeldHere, isHolderDead } from "../../inspect.js";
import { formatNumber } from "../../view/format-number.js";
import { isUnfinished } from "../agent/session-progress.js";
import { sendDecision } from "../decisions/send-decision.js";
import { formatError } from "../exit.js";
import { readFolderText } from "../files/folder-file.js";
import type { StartedServers } from "../mcp/start-servers.js";
import { modeKey } from "../permissions/mode.js";
import type { Permissions } from "../permissions/permissions.js";
import { isAgentTool } from "../permissions/rule.js";
import { formatDollars } from "../render/format-closing-line.js";
import { awaitOutcome } from "../run/run-on-terminal.js";
import { type Line, lineOf } from "../screen/line.js";
import type { Redaction } from "../terminal/redaction.js";
import { createBackgroundAgents } from "./background-agents.js";
import { createHookActivities } from "./hook-activities.js";
import { loadHighlighting } from "./lines/highlight.js";
import { interruptionTexts, wrapNote } from "./lines/view-lines.js";
import { createMessageComposer } from "./message-composer.js";
import { createReminders } from "./reminders.js";
import { createRunSettingsStore, type RunSettingsStore } from "./run-settings.js";
import { createSessionMode, type SessionMode } from "./session-mode.js";
import { createSleepAlarm } from "./sleep-alarm.js";
import type { Activity } from "./view/fold.js";
import type { OpenQuestion } from "./view/questions.js";
import { findMessage } from "./view/sent-text.js";
import { createView, type View } from "./view/view.js";

export type SessionControlDeps = {
  readonly agent: Agent;
  /** The ids of the agent's models: its own, then its fallbacks. */
  readonly models: readonly string[];
  /** The ids of the models without a known price, including those of the agent's agents. */
  readonly unpriced: readonly string[];
  readonly store: Store;
  readonly sessionId: string;
  /** The folder of the session. */
  readonly root: string;
  /** Whether the permission rules let a file be attached to a message. */
  readonly mayReach: Permissions["mayReach"];
  /** Returns why the model's provider would refuse a file. */
  readonly whyRefused?: Model["whyRefused"];
  /** The MCP servers whose resources a message can mention. */
  readonly servers: Pick<StartedServers, "all">;
  readonly redaction: Redaction;
  /** The person at the terminal, for the log. */
  readonly by: string;
  readonly columns: () => number;
  /** Called with each message that a person has sent, while the earlier entries of the session are shown. */
  readonly onEarlierMessage: (text: string) => void;
  /** Called after each change of the view. */
  readonly onChange: () => void;
};

export type SessionControl = {
  readonly sessionId: string;
  readonly view: View;
  /** The settings of the next runs. */
  readonly choices: RunSettingsStore;
  /** The mode, which decides which calls run without asking. */
  readonly mode: SessionMode;
  /** Shows the session so far, and continues its run if one was interrupted. */
  readonly open: () => Promise<void>;
  /** Adds data to the next message. */
  readonly join: (part: UserPart) => void;
  /**
   * Starts a run. A run in progress gets the text before its next model call; if a run is being stopped, the text starts the next
   * run. Files and resources that are mentioned in the text, or in `named`, are attached.
   */
  readonly send: (text: string, named?: string) => void;
  /** Whether a message waits for the resources that it mentions. */
  readonly isReading: () => boolean;
  /** Stops a message that waits for its resources: it is not sent. @returns whether there was one */
  readonly stopReading: () => boolean;
  /** Queues the text as the next run. */
  readonly queue: (text: string) => void;
  /** Starts the queued runs, after a run was stopped. */
  readonly startQueued: () => void;
  /** Removes the last queued run. @returns its text; null if there is none */
  readonly takeBack: () => string | null;
  /** The current text of the file that a call would change; null if it changes no file, or if the text is unknown. */
  readonly fileOf: (question: OpenQuestion) => string | null;
  readonly stop: () => void;
  /** Stops the run, and waits at most `maxMs` for its end. */
  readonly stopAndWait: (maxMs: number) => Promise<void>;
  readonly answer: (question: OpenQuestion, decision: ApprovalDecision) => void;
  readonly say: (lines: readonly Line[]) => void;
  /** Shows an activity outside the session, such as a command; null if there is none. */
  readonly setOwn: (activity: Activity | null) => void;
  /** Shows that a hook's command runs. @returns a function to call when the command has ended */
  readonly showHook: (name: string) => () => void;
  readonly fail: (error: unknown) => void;
  /** The number of background agents that have not ended. */
  readonly countBackgroundAgents: () => Promise<number>;
  /** Ends the stream and shuts the agent down. A run that is still in progress is interrupted after `graceMs`. */
  readonly close: (graceMs: number) => Promise<void>;
};

/** The work that is still open at the entry `until`: calls that wait for an answer, and background agents. */
type Replayed = {
  readonly until: number;
  readonly callKeys: ReadonlySet<string>;
  readonly childIds: ReadonlySet<string>;
};

/** The number of log entries that are shown when a session is opened. */
const maxShown = 600;
/** How long the view works before it lets keys be handled; milliseconds. */
const sliceMs = 8;

export function createSessionControl(deps: SessionControlDeps): SessionControl {
  const { agent, store, sessionId, root, redaction, by, columns, onChange } = deps;
  const session = agent.session(sessionId);
  const ownView = createView({ fileOf, models: deps.models });
  const hooks = createHookActivities(onChange);
  const view: View = { ...ownView, state: () => hooks.showIn(ownView.state()) };
  const choices = createRunSettingsStore(session, by, deps.unpriced);
  const mode = createSessionMode(session, by);
  /** The open work while earlier events are replayed; null afterwards. */
  let replayed: Replayed | null = null;
  const closing = new AbortController();
  const alarm = createSleepAlarm(() => resumeRun());
  let display: Promise<void> | null = null;

  function say(lines: readonly Line[]): void {
    view.say(lines);
    onChange();
  }

  function setOwn(activity: Activity | null): void {
    view.setOwn(activity);
    onChange();
  }

  function fail(error: unknown): void {
    if (closing.signal.aborted) return;
    say(wrapNote(`✗ ${redaction.text(formatError(error, false))}`, columns(), "red"));
  }

  /** The file that a call would change now. For an earlier call the file is unknown, because its content has changed since. */
  function fileOf({ callKey, childId, input }: OpenQuestion): string | null {
    if (childId !== undefined || (replayed !== null && !replayed.callKeys.has(callKey))) return null;
    const path = typeof input === "object" && input !== null && "path" in input ? input.path : undefined;
    return typeof path === "string" ? readFolderText(root, path) : null;
  }

  async function showFrom(after: number): Promise<void> {
    // Lines of the history never change, so the highlighter is loaded before the first one.
    await loadHighlighting();
    const redact = redaction.stream();
    let isAtStepStart = after === 0;
    let sliceEnd = performance.now() + sliceMs;
    /** Draws the current state, and lets keys be handled. */
    const yieldToKeys = async () => {
      onChange();
      await setImmediate();
      sliceEnd = performance.now() + sliceMs;
    };
    const { signal } = closing;
    const hasAgents = agent.specifications().some(({ name }) => isAgentTool(name));
    const items = hasAgents ? session.events({ after, signal, children: true }) : session.events({ after, signal });
    for await (const item of items) {
      if (item.type === "children_omitted") continue;
      if ("depth" in item && item.depth > 0) {
        // Only the session's own text is shown. Agents stream much more than the line of their call has room for.
        if (agentItems.has(item.type)) {
          view.showAgent(isQuestion(item) ? item : redaction.value(item), columns());
          onChange();
        }
        if (performance.now() >= sliceEnd) await yieldToKeys();
        continue;
      }
      if ("seq" in item && replayed !== null && item.seq > replayed.until) replayed = null;
      for (const redactedItem of redact(item)) {
        // If only the end of a log is shown, its first events belong to a step whose beginning is not shown.
        isAtStepStart ||= item.type === "run_started" || item.type === "step_finished";
        if (!isAtStepStart) continue;
        const message = replayed === null ? null : findMessage(redactedItem);
        if (message !== null) deps.onEarlierMessage(message);
        for (const _ of view.showInSteps(isQuestion(item) ? item : redactedItem, columns(), Date.now()))
          if (performance.now() >= sliceEnd) await yieldToKeys();
      }
      // The agent's questions take its name from the call, so the call is shown first.
      if (item.type === "tool_result" && item.startedChild !== undefined && isAtWork(item.startedChild))
        background.follow({ childId: item.startedChild, callKey: item.callKey });
      if (replayed === null) applyChoices(item);
      onChange();
      if (performance.now() >= sliceEnd) await yieldToKeys();
    }
  }

  function isAtWork(childId: string): boolean {
    return replayed === null || replayed.childIds.has(childId);
  }

  function runInBackground(work: Promise<unknown>): void {
    work.catch(fail);
  }

  function applyChoices(item: StreamItem): void {
    if (item.type === "run_started") runInBackground(Promise.all([choices.storePending(), mode.storePending()]));
    // The run began without a request of this conversation.
    if (item.type === "run_started" && item.finishedChild !== undefined) resumeRun();
    if (item.type === "data_changed" && item.keys.includes(modeKey)) runInBackground(mode.load().then(onChange));
    if (item.type === "step_finished") runInBackground(stopIfSpent(item.runId));
    // The run may have set reminders until its end, and they wait for its end anyway.
    if (item.type === "final") reminders.look();
  }

  async function stopIfSpent(runId: string): Promise<void> {
    const state = await session.state();
    if (isResting(state) || !("usage" in state) || state.runId !== runId) return;
    const { costUsd } = state.usage;
    const budget = choices.findSpentBudget(runId, costUsd);
    if (budget === null) return;
    say([
      lineOf(
        `✗ This run has cost ${formatDollars(costUsd ?? budget)}, and its budget is ${formatDollars(budget)}.`,
        "yellow",
      ),
    ]);
    await session.abort({ runId, note: `the budget of ${formatDollars(budget)} is spent`, by });
  }

  /** The person must see exactly what would run (SEC-6), so questions are not redacted. */
  function isQuestion(item: StreamItem): boolean {
    return item.type === "approval_requested" || item.type === "suspended";
  }

  function startShowing(after: number): void {
    display ??= showFrom(after).catch(fail);
  }

  /** The runs whose results this process waits for. */
  const tracked = new Set<Promise<void>>();

  function track(outcome: Promise<RunResult>): void {
    const tracking = outcome.then(handleResult, fail).finally(() => tracked.delete(tracking));
    tracked.add(tracking);
  }

  function handleResult(result: RunResult): void {
    if (closing.signal.aborted) return;
    if (result.status === "waiting") alarm.set(result.waits);
    else reportInterruption(result);
  }

  function reportInterruption(result: RunResult): void {
    if (result.status !== "interrupted") return;
    const why = result.error === undefined ? interruptionTexts[result.reason] : result.error.message;
    if (why !== "") say(wrapNote(`✗ ${redaction.text(why)}`, columns(), "red"));
  }

  const background = createBackgroundAgents({
    ...{ agent, store, sessionId, fail, signal: closing.signal },
    show(item) {
      view.showAgent(isQuestion(item) ? item : redaction.value(item), columns(), true);
      onChange();
    },
  });
  const resumeRun = () => track(awaitOutcome(session));
  const reminders = createReminders(session, { options: choices.options, onDelivered: resumeRun, fail });
  const abort = () => session.abort({ note: "stopped on the terminal", by });
  const startWith = (input: readonly UserPart[]) => {
    track(agent.run(input, { sessionId, ...choices.options() }));
    startShowing(0);
  };

  /** The screen may lag behind the log: a run that it shows as in progress may have ended. Then the text starts the next run,
   * with the person's settings. */
  async function steer(input: readonly UserPart[]): Promise<void> {
    if (isResting(await session.state())) startWith(input);
    else await session.steer(input, { by });
  }

  /** A single message, so that no queued run comes first and none waits for another Enter. */
  async function replace(input: readonly UserPart[]): Promise<void> {
    await session.send(input, { ...choices.options(), mode: "interrupt" });
    resumeRun();
  }

  function deliver(input: readonly UserPart[]): void {
    if (closing.signal.aborted) return;
    if (view.state().runId === null) startWith(input);
    else if (view.state().isStopping) runInBackground(replace(input));
    else runInBackground(steer(input));
  }

  const composer = createMessageComposer({
    ...deps,
    onProblem: (problem) => say(wrapNote(problem, columns(), "yellow")),
    onActivity: setOwn,
    fail,
  });

  /** If an answer came from elsewhere and no process drives the session, it continues here. */
  const unwatch = store.watch((change) => {
    if (change.gap !== true && change.sessionId !== sessionId && change.in !== "log")
      background.carryOn(change.sessionId);
    const mayBeInInbox = change.gap === true || (change.sessionId === sessionId && change.in !== "log");
    if (!mayBeInInbox || !view.state().isWaiting) return;
    runInBackground(
      store.describe(sessionId).then((summary) => {
        if (summary !== null && summary.inbox > 0 && summary.holder === null) resumeRun();
      }),
    );
  });

  return {
    sessionId,
    view,
    choices,
    mode,
    async open() {
      const summary = await store.describe(sessionId);
      if (summary === null || summary.info === null) return;
      await Promise.all([choices.load(), mode.load()]);
      const state = await session.state();
      if ("runId" in state) choices.watch(state.runId);
      const asking = hasCalls(state) ? state.calls.filter(({ status }) => status === "asking") : [];
      replayed = {
        until: state.seq,
        callKeys: new Set(asking.map(({ callKey }) => callKey)),
        childIds: new Set(state.background?.map(({ childId }) => childId)),
      };
      const after = Math.max(0, summary.seq - maxShown);
      if (after > 0) say([lineOf(`${formatNumber(after)} earlier entries of the log are not shown.`, "dim")]);
      startShowing(after);
      if (after > 0) background.followAll(state);
      const { holder } = summary;
      if (holder !== null && !isHeldHere(holder) && !isHolderDead(holder))
        say(
          wrapNote(`Process ${holder.pid} drives this session. You can steer it and answer here.`, columns(), "yellow"),
        );
      else if (isUnfinished(summary) || state.compactionAsked !== undefined) resumeRun();
      reminders.look();
    },
    join: composer.join,
    isReading: composer.isReading,
    stopReading: composer.stop,
    send: (text, named = text) => composer.compose(text, named, deliver),
    queue: (text) => composer.compose(text, text, startWith),
    startQueued: resumeRun,
    takeBack() {
      const last = view.state().queued.at(-1);
      if (last === undefined) return null;
      runInBackground(session.abort({ runId: last.runId, by }));
      return last.text;
    },
    fileOf,
    stop: () => runInBackground(abort()),
    async stopAndWait(maxMs) {
      await abort().catch(fail);
      await Promise.race([Promise.all(tracked), setTimeout(maxMs, undefined, { ref: false })]);
    },
    answer(question, decision) {
      const carryOn = () => (question.isBackground === true ? background.carryOn(question.childId ?? "") : resumeRun());
      const refuse = (error: unknown) => {
        fail(error);
        view.askAgain(question, columns());
        onChange();
      };
      runInBackground(sendDecision(session, question, decision, by).then(carryOn, refuse));
    },
    say,
    setOwn,
    showHook: (name) => hooks.start(redaction.text(name)),
    fail,
    countBackgroundAgents: background.countUnfinished,
    async close(graceMs) {
      unwatch();
      composer.stop();
      alarm.clear();
      reminders.close();
      await agent.shutdown({ graceMs });
      closing.abort();
      await display;
    },
  };
}

/** The items of agents that change what is shown. */
const agentItems: ReadonlySet<string> = new Set([
  ...["tool_call", "tool_result", "step_finished", "approval_requested", "approval_answered"],
]);
