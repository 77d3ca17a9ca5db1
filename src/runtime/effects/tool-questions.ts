/**
 * The questions of a tool (`ctx.ask`), its sleeps (`ctx.sleep`) and its waits for signals (`ctx.waitFor`).
 *
 * 1. There is only one mechanism: the questions are committed, the tool is suspended, and it runs again with the answers. Sleeps and waits
 *    are questions that no person answers. The exception is a question of an MCP server within its request (held-questions.ts).
 * 2. No step of the tool is in progress when it asks. Questions that come up meanwhile are asked together.
 * 3. A tool that has ended asks nothing. If it ends while its questions are being committed, the questions count, and its end does not.
 */
import { defined } from "../../core/data/defined.js";
import { copyJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { maxOpenQuestions } from "../../core/machine/state.js";
import type { QuestionAnswer, StepRecord } from "../../core/transcript/tool-steps.js";
import { PawlError } from "../../errors.js";
import { isHeld } from "../../ports/held-question.js";
import type { Answered, Question, Signalled, SleepOptions, WaitForOptions } from "../../ports/tool.js";
import { afterTurn } from "../lib/event-loop.js";
import { StepError } from "../tools/step-error.js";
import { pickData } from "../work/data-changes.js";
import { isInteractive } from "../work/effect-context.js";
import { checkQuestionAnswer, type PreparedQuestion, prepareQuestion } from "./check-question.js";
import { parseSleep, parseWait } from "./check-wait.js";
import { askWhileRunning, createQuestionEvent, isStopping } from "./held-questions.js";
import { nobodyCanAnswer } from "./prompts.js";
import { giveToTool, runStep, type StepHost } from "./step-host.js";
import { detached } from "./tool-attempt.js";

export type ToolQuestions = {
  readonly sleep: (name: string, options: SleepOptions) => Promise<void>;
  readonly waitFor: (name: string, options: WaitForOptions<unknown>) => Promise<Signalled<unknown>>;
  readonly ask: (question: Question<unknown>) => Promise<Answered<unknown>>;
  /** Settles when the questions that are being committed are in the log, or are not asked. Null if there are none. */
  readonly asking: () => Promise<void> | null;
  /** Waits for questions that are being committed: the tool is then suspended, or the call has ended. */
  readonly whenNotAsking: () => Promise<void>;
};

type WaitingQuestion = {
  readonly key: string;
  readonly question: PreparedQuestion;
  readonly resolve: (nothing: typeof detached) => void;
  readonly reject: (error: unknown) => void;
};

export function createQuestions(host: StepHost): ToolQuestions {
  const { tool, context, signal } = host.call;
  const waiting: WaitingQuestion[] = [];
  let asking: Promise<void> | null = null;
  let isScheduled = false;

  /** Asks in the next turn of the event loop, if no step is in progress then. */
  function scheduleAsk(): void {
    if (isScheduled || waiting.length === 0) return;
    isScheduled = true;
    afterTurn(() => {
      isScheduled = false;
      if (host.hasToolEnded()) return rejectAll();
      if (host.isSuspended()) return releaseAll();
      if (waiting.length > 0) host.report("asking");
    });
  }

  function commit(): void {
    asking = commitQuestions().finally(() => {
      asking = null;
    });
  }
  host.onQuestions({ tryAsking: scheduleAsk, commit });

  async function commitQuestions(): Promise<void> {
    // Further questions are asked when these are answered.
    const asked = waiting.slice(0, maxOpenQuestions);
    const entries = () => {
      const taken = host.takeChanges();
      if (!taken.ok) host.fail({ type: "error", message: formatUnkeptChanges(taken.message) });
      if (!taken.ok) return [];
      return asked.map(({ key, question }, index) => ({
        ...createQuestionEvent(host, key, question),
        ...(index === 0 ? pickData(taken) : {}),
      }));
    };
    const outcome = await host.record((state) => (isStopping(state) ? [] : entries()));
    if (outcome === "stale") {
      host.report("refused");
      rejectAll();
    } else {
      host.report("asked");
      releaseAll();
    }
  }

  /** The tool continues later, or in another process. */
  function releaseAll(): void {
    for (const { resolve } of waiting.splice(0)) resolve(detached);
  }

  /** The call has ended, so let the tool's code run to its end. */
  function rejectAll(): void {
    const reason = signal().reason ?? new DOMException("The call has ended.", "AbortError");
    for (const { reject } of waiting.splice(0)) reject(reason);
  }

  async function ask(given: Question<unknown>): Promise<Answered<unknown>> {
    const { question, parse } = prepareQuestion(given);
    const key = host.admit(given.name ?? "ask");
    if (isHeld(given)) {
      const held = await giveToTool(await askWhileRunning(host, key, question));
      return checkQuestionAnswer(key, held, parse);
    }
    refuseUnlessDurable(key, "asks");
    return host.pending(key, async () => {
      const recorded = await host.take(key);
      if (recorded === detached) return detached;
      if (recorded === undefined && !isInteractive(context)) return (await decline(key)) as Answered<unknown>;
      if (recorded === undefined) return suspend(key, question);
      const answer = await readAnswer(recorded);
      return answer === detached ? detached : checkQuestionAnswer(key, answer, parse);
    });
  }

  /** Commits the question and suspends the tool. Rejects if the call ends first. */
  async function suspend(key: string, question: PreparedQuestion): Promise<typeof detached> {
    if (context.recorder.isReplay === true) return host.failUnrecorded(key);
    host.mayBegin(key, false);
    return new Promise((resolve, reject) => {
      waiting.push({ key, question, resolve, reject });
      scheduleAsk();
    });
  }

  function refuseUnlessDurable(key: string, verb: string): void {
    if (tool.durable !== true) throw new StepError("not_durable", key, formatNotDurable(tool.name, verb));
  }

  /** Without this check, the run would wait forever. */
  function refuseWithoutSignals(): void {
    if (context.agent.store.signals !== undefined || context.recorder.isReplay === true) return;
    throw new PawlError(
      "store_lacks",
      "This store does not support signals, so no tool can wait for one. Use one of Pawl's stores, or implement `signals` in your own.",
    );
  }

  async function sleep(name: string, options: SleepOptions): Promise<void> {
    const now = context.now();
    const expiresAt = parseSleep(name, options, now);
    const key = host.admit(name);
    refuseUnlessDurable(key, "sleeps");
    await host.pending(key, async () => {
      const recorded = await host.take(key);
      if (recorded === detached) return detached;
      if (recorded !== undefined) return readAnswer(recorded);
      // A time that has passed is also recorded, so that the tool takes the same path whenever it runs again.
      if (expiresAt <= now) return runStep(host, key, () => ({ type: "expired" }), {});
      return suspend(key, { message: `Sleeps: ${name}`, for: "time", expiresAt });
    });
  }

  async function waitFor(name: string, options: WaitForOptions<unknown>): Promise<Signalled<unknown>> {
    const { key, schema, parse } = parseWait(name, options);
    const first = host.admit(name);
    refuseUnlessDurable(first, "waits");
    const { timeoutMs } = options;
    let expiresAt = timeoutMs === undefined ? undefined : Math.ceil(context.now() + timeoutMs);
    return host.pending(first, async () => {
      for (let passedOver = 0; passedOver < maxPassedOver; passedOver += 1) {
        // A wait that skips a signal continues as a separate step, until the deadline of the first one.
        const step = passedOver === 0 ? first : `${first}/${passedOver + 1}`;
        const recorded = await host.take(step);
        if (recorded === detached) return detached;
        if (recorded !== undefined) expiresAt = host.askedUntil(step);
        else refuseWithoutSignals();
        const question = {
          message: `Waits for ${key}`,
          for: "signal",
          key,
          ...defined({ schema, expiresAt }),
        } as const;
        const answer = await (recorded === undefined ? suspend(step, question) : readAnswer(recorded));
        if (answer === detached) return detached;
        if (answer.type !== "answered") return { type: "expired" };
        const { id, value } = answer.value as { readonly id: string; readonly value: Json };
        const fit = parse === undefined ? ({ ok: true, value } as const) : await parse(value);
        if (fit.ok) return { type: "signalled", value: fit.value, id, ...defined({ by: answer.by }) };
      }
      throw new StepError("step_failed", first, misfitText(first, key));
    });
  }

  /** No person can be asked in this run. This is recorded like an answer. */
  function decline(key: string): Promise<unknown> {
    return runStep(host, key, () => ({ type: "declined", note: nobodyCanAnswer }), {});
  }

  async function readAnswer(recorded: StepRecord): Promise<QuestionAnswer | typeof detached> {
    if (recorded.outcome === "answered") return copyJson(recorded.answer as Json) as QuestionAnswer;
    return (await host.given(recorded)) as QuestionAnswer | typeof detached;
  }

  return {
    ask,
    sleep,
    waitFor,
    asking: () => asking,
    async whenNotAsking() {
      while (asking !== null) await asking;
    },
  };
}

function formatUnkeptChanges(why: string): string {
  return `The tool's changes of the session's data before its question could not be stored: ${why}`;
}

function formatNotDurable(name: string, verb: string): string {
  return `The tool "${name}" ${verb}, but only a tool with durable: true may do so, because it runs again afterwards. Put all its effects into steps, and set durable: true.`;
}

/** How many signals with values that do not match one wait skips. */
const maxPassedOver = 20;

function misfitText(step: string, key: string): string {
  return `The values of ${maxPassedOver} signals with the key "${key}" did not match the schema of "${step}". Check what is sent with this key.`;
}
