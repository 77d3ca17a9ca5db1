/**
 * One session of a conversation: starts and steers its runs, answers its questions, and feeds its items to the view.
 *
 * 1. Everything that is shown of the session comes from its stream, so a restart shows the same.
 * 2. The view yields, so that keys are answered while much arrives.
 */
import { setImmediate, setTimeout } from "node:timers/promises";
import { hasCalls, isResting } from "../../core/index.js";
import {
  type Agent,
  type ApprovalDecision,
  isHeldHere,
  isHolderDead,
  type Model,
  type RunResult,
  type Store,
  type StreamItem,
  type UserPart,
} from "../../index.js";
import { composeMessage } from "../attachments.js";
import { dollars } from "../closing-line.js";
import { describeError } from "../exit.js";
import { textOfFolderFile } from "../folder-file.js";
import { modeKey } from "../permissions/mode.js";
import type { Permissions } from "../permissions/permissions.js";
import type { Redaction } from "../redaction.js";
import { outcomeOf } from "../run-on-terminal.js";
import { type Line, lineOf } from "../screen/line.js";
import type { Activity } from "./fold.js";
import { loadHighlighting } from "./highlight.js";
import type { OpenQuestion } from "./questions.js";
import { createRunChoices, type RunChoices } from "./run-choices.js";
import { createSessionMode, type SessionMode } from "./session-mode.js";
import { createView, type View } from "./view.js";
import { wrappedNote } from "./view-lines.js";

export type SessionParts = {
  readonly agent: Agent;
  readonly store: Store;
  readonly sessionId: string;
  /** The folder of the session. */
  readonly root: string;
  /** Whether a file may join a message. */
  readonly mayReach: Permissions["mayReach"];
  /** Why the model's provider would refuse one. */
  readonly whyRefused?: Model["whyRefused"];
  readonly redaction: Redaction;
  /** The person at the terminal, for the log. */
  readonly by: string;
  readonly columns: () => number;
  /** Called after each change of the view. */
  readonly onChange: () => void;
};

export type SessionControl = {
  readonly sessionId: string;
  readonly view: View;
  /** What holds for the next runs. */
  readonly choices: RunChoices;
  /** Which calls run without a question. */
  readonly mode: SessionMode;
  /** Shows what the session has, and carries its run on if one was interrupted. */
  readonly open: () => Promise<void>;
  /** Adds data to the next message. */
  readonly join: (part: UserPart) => void;
  /**
   * Starts a run. A run under way gets the text before its next model call; after a run that is being stopped, the text is the next
   * run. Files that the text, or `named`, names join it.
   */
  readonly send: (text: string, named?: string) => void;
  /** Makes the text the next run. */
  readonly queue: (text: string) => void;
  /** Starts what is queued, after a run was stopped. */
  readonly startQueued: () => void;
  /** Takes the last queued run back. @returns its text; null if there is none */
  readonly takeBack: () => string | null;
  /** The present text of the file that a call would change; null if it changes none, or the file is not known. */
  readonly fileOf: (question: OpenQuestion) => string | null;
  readonly stop: () => void;
  /** Stops, and waits for the end of the run, but no longer than this. */
  readonly stopAndWait: (mostMs: number) => Promise<void>;
  readonly answer: (question: OpenQuestion, decision: ApprovalDecision) => void;
  readonly say: (lines: readonly Line[]) => void;
  /** Shows what the person has under way beside the session; null: nothing. */
  readonly setOwn: (activity: Activity | null) => void;
  readonly fail: (error: unknown) => void;
  /** Ends the stream and the agent. A run that goes on is interrupted after `graceMs`. */
  readonly close: (graceMs: number) => Promise<void>;
};

/** Entries of the log that are shown when a session is opened. */
const mostShown = 600;
/** Milliseconds of work after which keys are looked at. */
const sliceMs = 8;

export function createSessionControl(parts: SessionParts): SessionControl {
  const { agent, store, sessionId, root, mayReach, whyRefused = () => null, redaction, by, columns, onChange } = parts;
  const session = agent.session(sessionId);
  const view = createView({ fileOf });
  const choices = createRunChoices(session, by);
  const mode = createSessionMode(session, by);
  /** While events from before are shown: the calls that still ask. Null after that. */
  let stillAsking: { readonly until: number; readonly callKeys: ReadonlySet<string> } | null = null;
  const over = new AbortController();
  let showing: Promise<void> | null = null;

  function say(lines: readonly Line[]): void {
    view.say(lines, columns());
    onChange();
  }

  function fail(error: unknown): void {
    if (over.signal.aborted) return;
    say(wrappedNote(`✗ ${redaction.text(describeError(error, false))}`, columns(), "red"));
  }

  /** The file that a call would change now. What an earlier call has changed is another file by now. */
  function fileOf({ callKey, childId, input }: OpenQuestion): string | null {
    if (childId !== undefined || (stillAsking !== null && !stillAsking.callKeys.has(callKey))) return null;
    const path = typeof input === "object" && input !== null && "path" in input ? input.path : undefined;
    return typeof path === "string" ? textOfFolderFile(root, path) : null;
  }

  async function showAll(after: number): Promise<void> {
    // Lines of the history never change, so the colours are there before the first one.
    await loadHighlighting();
    const redact = redaction.stream();
    let isWhole = after === 0;
    let sliceEnd = performance.now() + sliceMs;
    /** Shows what there is, and lets keys in. */
    const rest = async () => {
      onChange();
      await setImmediate();
      sliceEnd = performance.now() + sliceMs;
    };
    for await (const item of session.events({ after, signal: over.signal })) {
      if ("seq" in item && stillAsking !== null && item.seq > stillAsking.until) stillAsking = null;
      for (const safe of redact(item)) {
        // The first events of a log that is shown in part belong to a step whose beginning is not shown.
        isWhole ||= item.type === "run_started" || item.type === "step_finished";
        if (!isWhole) continue;
        for (const _ of view.showInSteps(asked(item) ? item : safe, columns(), Date.now()))
          if (performance.now() >= sliceEnd) await rest();
      }
      if (stillAsking === null) goByChoices(item);
      onChange();
      if (performance.now() >= sliceEnd) await rest();
    }
  }

  function goByChoices(item: StreamItem): void {
    if (item.type === "run_started") act(Promise.all([choices.keep(), mode.keep()]));
    if (item.type === "data_changed" && item.keys.includes(modeKey)) act(mode.load().then(onChange));
    if (item.type === "step_finished") act(stopIfSpent(item.runId));
  }

  async function stopIfSpent(runId: string): Promise<void> {
    const state = await session.state();
    if (isResting(state) || !("usage" in state) || state.runId !== runId) return;
    const { costUsd } = state.usage;
    const budget = choices.spent(runId, costUsd);
    if (budget === null) return;
    say([lineOf(`✗ This run has cost ${dollars(costUsd ?? budget)}, and its budget is ${dollars(budget)}.`, "yellow")]);
    await session.abort({ runId, note: `the budget of ${dollars(budget)} is spent`, by });
  }

  /** The person must see exactly what would run (SEC-6), so questions are not redacted. */
  function asked(item: StreamItem): boolean {
    return item.type === "approval_requested" || item.type === "suspended";
  }

  function startShowing(after: number): void {
    showing ??= showAll(after).catch(fail);
  }

  /** The runs whose results this process waits for. */
  const tracked = new Set<Promise<void>>();

  function track(outcome: Promise<RunResult>): void {
    const told = outcome.then(tellInterrupted, fail).finally(() => tracked.delete(told));
    tracked.add(told);
  }

  function tellInterrupted(result: RunResult): void {
    if (result.status !== "interrupted" || over.signal.aborted) return;
    const why = result.error === undefined ? interruptions[result.reason] : result.error.message;
    if (why !== "") say(wrappedNote(`✗ ${redaction.text(why)}`, columns(), "red"));
  }

  const carryOn = () => track(outcomeOf(session));
  const act = (work: Promise<unknown>) => void work.catch(fail);
  const abort = () => session.abort({ note: "stopped on the terminal", by });
  const startWith = (input: readonly UserPart[]) => {
    track(agent.run(input, { sessionId, ...choices.options() }));
    startShowing(0);
  };
  const start = (text: string, named = text) => startWith(composed(text, named));

  /** The screen may be behind the log: a run that it shows as under way may be over. Then the text starts the next one, by the
   * choices of the person. */
  async function steer(text: string, named: string): Promise<void> {
    const input = composed(text, named);
    if (isResting(await session.state())) startWith(input);
    else await session.steer(input, { by });
  }

  /** One message, so that nothing queued comes first and no run waits for another Enter. */
  async function replace(text: string, named: string): Promise<void> {
    await session.send(composed(text, named), { ...choices.options(), mode: "interrupt" });
    carryOn();
  }

  /** What joins the next message beside the files that it names. */
  let joining: readonly UserPart[] = [];

  function composed(text: string, named: string): readonly UserPart[] {
    const { input, problems } = composeMessage(text, { root, mayReach, whyRefused, before: joining, named });
    joining = [];
    for (const problem of problems) say(wrappedNote(problem, columns(), "yellow"));
    return input;
  }

  /** Somebody answered from elsewhere, and nobody drives the session: it goes on here. */
  const unwatch = store.watch((change) => {
    const mayBeInInbox = change.gap === true || (change.sessionId === sessionId && change.in !== "log");
    if (!mayBeInInbox || !view.state().isWaiting) return;
    act(
      store.describe(sessionId).then((summary) => {
        if (summary !== null && summary.inbox > 0 && summary.holder === null) carryOn();
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
      stillAsking = { until: state.seq, callKeys: new Set(asking.map(({ callKey }) => callKey)) };
      const after = Math.max(0, summary.seq - mostShown);
      if (after > 0) say([lineOf(`${after.toLocaleString("en-US")} earlier entries of the log are not shown.`, "dim")]);
      startShowing(after);
      const { holder } = summary;
      if (holder !== null && !isHeldHere(holder) && !isHolderDead(holder))
        say(
          wrappedNote(
            `Process ${holder.pid} drives this session. You can steer it and answer here.`,
            columns(),
            "yellow",
          ),
        );
      else if (summary.activity !== "resting" || summary.inbox > 0 || state.compactionAsked !== undefined) carryOn();
    },
    join(part) {
      joining = [...joining, part];
    },
    send(text, named = text) {
      if (view.state().runId === null) start(text, named);
      else if (view.state().isStopping) act(replace(text, named));
      else act(steer(text, named));
    },
    queue: (text) => start(text),
    startQueued: carryOn,
    takeBack() {
      const last = view.state().queued.at(-1);
      if (last === undefined) return null;
      act(session.abort({ runId: last.runId, by }));
      return last.text;
    },
    fileOf,
    stop: () => act(abort()),
    async stopAndWait(mostMs) {
      await abort().catch(fail);
      await Promise.race([Promise.all(tracked), setTimeout(mostMs, undefined, { ref: false })]);
    },
    answer({ callKey, inputHash, questionId }, decision) {
      const options = {
        by,
        ...(inputHash === undefined ? {} : { inputHash }),
        ...(questionId === undefined ? {} : { questionId }),
      };
      act(session.answer(callKey, decision, options).then(carryOn));
    },
    say,
    setOwn(activity) {
      view.setOwn(activity);
      onChange();
    },
    fail,
    async close(graceMs) {
      unwatch();
      await agent.shutdown({ graceMs });
      over.abort();
      await showing;
    },
  };
}

type Interrupted = Extract<RunResult, { readonly status: "interrupted" }>;

const interruptions: { readonly [Reason in Interrupted["reason"]]: string } = {
  store_failed: "The store failed, so the run stopped here. Carry it on with /resume.",
  shutdown: "",
  left: "",
  lease_lost: "Another process drives this session now.",
  held_back: "",
};
