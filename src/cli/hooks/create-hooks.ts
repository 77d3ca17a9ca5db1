/**
 * Turns the hooks in files into hooks of an agent. Each command is one library hook, so the log records its name, time and outcome.
 *
 * 1. A hook of the folder runs only if its file and the files that the file names are still those that were trusted.
 * 2. The decision of a hook is in the log. Another process continues from there, and does not call the hook again.
 * 3. A failed hook is reported, and the run continues, unless the hook has `onFailure: "closed"`.
 */

import { textOfOutput } from "../../core/index.js";
import {
  createClient,
  type Hook,
  type HookContext,
  type HookSubject,
  type Json,
  type Store,
  type ToolOutput,
  type UserMessage,
} from "../../index.js";
import { untilAborted } from "../../platform/until-aborted.js";
import { decideByRules } from "../permissions/decide.js";
import { applyHookVerdict, type HookVerdicts } from "../permissions/hook-verdicts.js";
import { modeOf } from "../permissions/mode.js";
import type { Permissions } from "../permissions/permissions.js";
import { findReminderQuestion } from "../permissions/reminder-question.js";
import type { TopSessions } from "../permissions/top-sessions.js";
import { readHooksHash } from "../trust/trust.js";
import { type HookAnswer, readHookAnswer } from "./hook-answer.js";
import { formatHookName, type ResolvedHook } from "./resolve-hooks.js";
import { afterTimeoutMs, runHookCommand } from "./run-hook-command.js";
import { trackNotification } from "./running-notifications.js";
import type { SessionVariables, StartedSession, Variables } from "./session-variables.js";
import { fromScriptInput, listToolNames, toScriptInput } from "./tool-names.js";
import { withTranscript } from "./transcript-file.js";

export type CreateHooksDeps = {
  readonly root: string;
  readonly store: Store;
  readonly topSessions: TopSessions;
  /** Passes the verdicts of hooks to the permission check. */
  readonly verdicts: HookVerdicts;
  /** Runs a hook after a call, and records what the hook changes in the file that the call has written. */
  readonly runAfterCall: <Result>(
    call: HookSubject<"afterToolCall">,
    context: HookContext,
    run: () => Promise<Result>,
  ) => Promise<Result>;
  /** Decides about a call by the rules and the mode. */
  readonly decide: Permissions["decide"];
  /** Keeps the variables that SessionStart hooks set. */
  readonly sessionVariables: SessionVariables;
  /** Called with a hook's name when its command starts. @returns a function that is called when the command has ended */
  readonly onCommand?: ((name: string) => () => void) | undefined;
};

/** @param agent the name of the agent in a file that the hooks are for; null for the session that the person sees */
export function createHooks(
  hooks: readonly ResolvedHook[],
  agent: string | null,
  deps: CreateHooksDeps,
): readonly Hook[] {
  // PermissionRequest hooks come last, because they get the input that the other hooks have left.
  const inOrder = hooks.toSorted((a, b) => Number(isPermissionHook(a)) - Number(isPermissionHook(b)));
  return inOrder.flatMap((hook) => {
    const points = createPoints(hook, agent, deps);
    if (points === null) return [];
    const { onFailure, timeoutMs } = hook;
    return [{ name: formatHookName(hook), onFailure, timeoutMs: timeoutMs + afterTimeoutMs, ...points }];
  });
}

const isPermissionHook = ({ event }: ResolvedHook) => event === "PermissionRequest";

type Points = Omit<Hook, "name" | "onFailure" | "timeoutMs">;

/** The points of a run at which the hook is called; null if this agent never calls it. */
function createPoints(hook: ResolvedHook, agent: string | null, deps: CreateHooksDeps): Points | null {
  const run = createRunner(hook, agent, deps);
  switch (hook.event) {
    case "SessionStart":
      return agent === null ? createSessionStart(hook, run, deps) : null;
    case "UserPromptSubmit":
      return agent === null ? createPromptSubmit(run) : null;
    case "SubagentStart":
      return agent !== null && hook.matches([agent]) ? createContext(run) : null;
    case "PreToolUse":
      return createBeforeCall(hook, run, deps);
    case "PermissionRequest":
      return createPermissionRequest(hook, run, deps);
    case "PostToolUse":
    case "PostToolUseFailure":
      return createAfterCall(hook, run, deps);
    case "Stop":
      return agent === null ? createStop(run) : null;
    case "SubagentStop":
      return agent !== null && hook.matches([agent]) ? createStop(run) : null;
    case "PreCompact":
      return createPreCompact(hook, run);
    case "PostCompact":
      return {
        async onCompacted({ summary }, context) {
          await run({ compact_summary: summary }, context);
        },
      };
    case "Notification":
    case "SessionEnd":
      return null;
  }
}

type RunHook = (
  fields: { readonly [field: string]: Json },
  context: StartedSession,
  variables?: Variables,
) => Promise<HookAnswer>;

/** The signal of commands that end by their own time limit only. */
const noSignal = new AbortController().signal;

function createRunner(
  hook: ResolvedHook,
  agent: string | null,
  { root, store, topSessions, onCommand }: CreateHooksDeps,
): RunHook {
  return async (fields, { sessionId, data, signal }, variables = {}) => {
    checkHookTrust(hook, root);
    const top = await topSessions.find({ sessionId, data });
    const input = {
      session_id: top.sessionId,
      cwd: root,
      permission_mode: modeNames[modeOf(top)],
      hook_event_name: hook.event,
      ...(agent === null ? {} : { agent_id: sessionId, agent_type: agent }),
      ...fields,
    };
    const runCommand = (endSignal: AbortSignal) =>
      withTranscript(top.sessionId, { store, root }, (path) =>
        runHookCommand(hook, { ...input, transcript_path: path }, { root, signal: endSignal, variables }),
      );
    if (hook.async) {
      // The event is committed before the command ends, so the log has no place for its outcome.
      void trackNotification(runCommand(noSignal)).catch(() => {});
      return {};
    }
    const onEnd = onCommand?.(formatHookName(hook));
    try {
      return readHookAnswer(await runCommand(signal), hook.event);
    } finally {
      onEnd?.();
    }
  };
}

/** @throws Error if the hook belongs to the folder, and its files are not the files that were trusted */
export function checkHookTrust({ trustedHash }: ResolvedHook, root: string): void {
  if (trustedHash !== null && readHooksHash(root) !== trustedHash)
    throw new Error("its file, or one that it runs, has changed since it was trusted: pawl trust");
}

/** The names of the modes in Claude Code. */
const modeNames = { ask: "default", edits: "acceptEdits", plan: "plan" } as const;

/** The maximum number of sessions that are remembered as started. The hook of a forgotten session is called again. */
const maxStarted = 10_000;

/** A call of the hook for a session. `isTaken`: a run has got its answer, or waits for it. */
type SessionStart = { readonly answer: Promise<HookAnswer>; isTaken: boolean };

/**
 * Calls the hook in each process, before the first run of a session. If the process continues a run that another one began, it calls the
 * hook before the first command, for its variables. The next run then gets the text of that answer.
 *
 * The call belongs to the session: a run or a command that is aborted stops waiting for it, and the next one waits again.
 */
function createSessionStart(
  { matches, async }: ResolvedHook,
  run: RunHook,
  { store, sessionVariables }: CreateHooksDeps,
): Points {
  const starts = new Map<string, SessionStart>();

  async function call(context: StartedSession, source: "startup" | "resume"): Promise<HookAnswer> {
    if (!matches([source])) return {};
    // Nothing waits for a command in the background, so what it writes would be lost.
    if (async) return run({ source }, context);
    const runWithFile = (path: string) => run({ source }, context, { CLAUDE_ENV_FILE: path });
    return sessionVariables.collect(context.sessionId, runWithFile);
  }

  async function callBeforeRun(context: StartedSession): Promise<HookAnswer> {
    const messages = await createClient({ store }).session(context.sessionId).messages();
    return call(context, messages.some(({ role }) => role === "assistant") ? "resume" : "startup");
  }

  function findStart(
    context: StartedSession,
    callHook: (context: StartedSession) => Promise<HookAnswer>,
  ): SessionStart {
    const { sessionId } = context;
    const known = starts.get(sessionId);
    if (known !== undefined) return known;
    const [oldest] = starts.keys();
    if (starts.size >= maxStarted && oldest !== undefined) starts.delete(oldest);
    // The hook has a time limit of its own.
    const answer = trackNotification(callHook({ ...context, signal: noSignal }));
    // The run that takes the answer reports a failure.
    answer.catch(() => {});
    const start = { answer, isTaken: false };
    starts.set(sessionId, start);
    return start;
  }

  sessionVariables.onLoad(async (context) => {
    if (async) return;
    const { answer } = findStart(context, (session) => call(session, "resume"));
    await untilAborted(answer, context.signal);
  });
  return {
    async beforeRun({ input }, context) {
      const start = findStart(context, callBeforeRun);
      if (start.isTaken) return undefined;
      start.isTaken = true;
      try {
        return toRunChange(input, await untilAborted(start.answer, context.signal));
      } catch (error) {
        if (context.signal.aborted) start.isTaken = false;
        throw error;
      }
    },
  };
}

function createPromptSubmit(run: RunHook): Points {
  return {
    async beforeRun({ input }, context) {
      const prompt = input.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
      const answer = await run({ prompt: prompt.join("\n") }, context);
      const refusal = answer.stop ?? answer.block;
      return refusal === undefined ? toRunChange(input, answer) : { refuse: refusal };
    },
  };
}

function createContext(run: RunHook): Points {
  return { beforeRun: async ({ input }, context) => toRunChange(input, await run({}, context)) };
}

function toRunChange(input: readonly UserMessage[], { context }: HookAnswer) {
  if (context === undefined) return undefined;
  const message: UserMessage = { role: "user", parts: [{ type: "text", text: markText(context) }] };
  return { input: [...input, message] };
}

/** Marks text from hooks, so that neither the model nor a reader takes it for a person's. */
const markText = (text: string) => `[hook] ${text}`;

async function isAbout(
  { matches, condition }: ResolvedHook,
  { name, input }: Pick<HookSubject<"beforeToolCall">, "name" | "input">,
  root: string,
): Promise<boolean> {
  if (!matches(listToolNames(name))) return false;
  if (condition === null) return true;
  const { verdict, mayBeDenied } = await decideByRules({ tool: name, input, readOnly: false }, [condition], root);
  // A line that cannot be read may contain what the condition names: `$(echo git) push`.
  return verdict === "deny" || mayBeDenied === true;
}

function toCallFields(
  { name, input, toolCallId }: Pick<HookSubject<"beforeToolCall">, "name" | "input" | "toolCallId">,
  root: string,
) {
  const [scriptName = name] = listToolNames(name);
  return { tool_name: scriptName, tool_input: toScriptInput(name, input, root), tool_use_id: toolCallId };
}

function createBeforeCall(hook: ResolvedHook, run: RunHook, { root, verdicts }: CreateHooksDeps): Points {
  return {
    async beforeToolCall(call, context) {
      const { name, input, callKey } = call;
      if (!(await isAbout(hook, call, root))) return undefined;
      const answer = await run(toCallFields(call, root), context);
      if (answer.stop !== undefined) return { stop: toClause(answer.stop) };
      if (answer.block !== undefined) return { block: toClause(answer.block) };
      const changed = answer.input === undefined ? input : fromScriptInput(name, input, answer.input, root);
      const { verdict, question } = answer;
      const { sessionId } = context;
      if (verdict !== undefined) verdicts.add({ sessionId, callKey }, { verdict, question, input: changed });
      return answer.input === undefined ? undefined : { input: changed };
    },
  };
}

/** Calls the hook if a person would be asked. Another process that decides the call again calls the hook again. */
function createPermissionRequest(
  hook: ResolvedHook,
  run: RunHook,
  { root, store, topSessions, verdicts, decide }: CreateHooksDeps,
): Points {
  return {
    async beforeToolCall(call, context) {
      const { name, input, callKey, readOnly } = call;
      if (!(await isAbout(hook, call, root))) return undefined;
      const { sessionId, data } = context;
      const asks = await findReminderQuestion({ tool: name, input }, context, store);
      const decided = await decide({ tool: name, readOnly, input, asks }, await topSessions.find({ sessionId, data }));
      if (applyHookVerdict(decided, verdicts.get({ sessionId, callKey })).verdict !== "ask") return undefined;
      const { tool_use_id: _, ...fields } = toCallFields(call, root);
      const answer = await run(fields, context);
      if (answer.stop !== undefined) return { stop: toClause(answer.stop) };
      if (answer.block !== undefined) return { block: toClause(answer.block) };
      const changed = answer.input === undefined ? input : fromScriptInput(name, input, answer.input, root);
      if (answer.verdict === "allow") verdicts.add({ sessionId, callKey }, { verdict: "allow", input: changed });
      return answer.input === undefined ? undefined : { input: changed };
    },
  };
}

function createAfterCall(hook: ResolvedHook, run: RunHook, { root, runAfterCall }: CreateHooksDeps): Points {
  return {
    async afterToolCall(call, context) {
      const { output, isError, durationMs, source } = call;
      if (isError !== (hook.event === "PostToolUseFailure") || source === "toModelOutput") return undefined;
      if (!(await isAbout(hook, call, root))) return undefined;
      const fields = { ...toCallFields(call, root), ...toResultFields(call), duration_ms: durationMs };
      const { stop, block, context: text } = await runAfterCall(call, context, () => run(fields, context));
      const added = [stop ?? block, text].filter((one) => one !== undefined);
      return added.length === 0 ? undefined : { output: appendText(output, added.map(markText).join("\n")) };
    },
  };
}

/** Another process that makes the summary again asks the hook again. */
function createPreCompact({ matches }: ResolvedHook, run: RunHook): Points {
  return {
    async beforeCompaction({ trigger, keep }, context) {
      if (!matches([trigger])) return undefined;
      const { stop, block, context: text } = await run({ trigger, custom_instructions: keep ?? "" }, context);
      const refusal = stop ?? block;
      if (refusal !== undefined) return { skip: refusal };
      return text === undefined ? undefined : { keep: markText(text) };
    },
  };
}

/** The reason becomes a part of a sentence. */
const toClause = (reason: string) => reason.replace(/\.$/, "");

function toResultFields({ output, isError }: HookSubject<"afterToolCall">): { readonly [field: string]: Json } {
  const text = textOfOutput(output);
  if (isError) return { error: text };
  return { tool_response: output.type === "json" ? output.value : { output: text } };
}

function appendText(output: ToolOutput, text: string): unknown {
  const part = { type: "text" as const, text };
  if (output.type === "content") return { type: "content", parts: [...output.parts, part] };
  return `${textOfOutput(output)}\n\n${text}`;
}

function createStop(run: RunHook): Points {
  return {
    async beforeStop({ text, stopPreventions, mayGoOn }, context) {
      const fields = { stop_hook_active: stopPreventions > 0, last_assistant_message: text };
      const { stop, block } = await run(fields, context);
      return stop !== undefined || block === undefined || !mayGoOn ? undefined : { message: markText(block) };
    },
  };
}
