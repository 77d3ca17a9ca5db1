/**
 * `/ps`: the background processes that commands of the session have started, and the state of those that were started by an
 * earlier process of this program.
 *
 * 1. An earlier process is signalled only if it is certainly the same process: its id, its start time and the boot are compared.
 */
import type { Agent, Store } from "../../../index.js";
import type { BackgroundProcesses, EarlierProcess } from "../../../tools/index.js";
import { createDataPart } from "../../agent/attachments.js";
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import { formatDuration, toOneLine, truncate } from "../../terminal/text.js";
import type { SessionControl } from "../session-control.js";
import type { CommandContext } from "./command-context.js";
import { showFullText } from "./show-full-text.js";

type ListedProcess = {
  readonly number: number;
  readonly command: string;
  readonly state: string;
  readonly isRunning: boolean;
  /** Set if an earlier process of this program started it. */
  readonly earlier: EarlierProcess | null;
};

/** @param words empty for the list, `N` for the output of a process, or `stop N` */
export async function runPsCommand(context: CommandContext, words: string): Promise<void> {
  const { say, choose } = context;
  const found = await listProcesses(context);
  if (found.length === 0) return say([lineOf("No process of this session runs in the background.", "dim")]);
  const [, stop, number] = /^(?:(stop)\s+)?(\d{1,6})$/.exec(words) ?? [];
  if (number !== undefined) {
    const named = found.find((one) => one.number === Number(number));
    if (named === undefined) return say([lineOf(`There is no process ${number}. /ps lists them.`, "yellow")]);
    return stop === undefined ? showOutput(named, context) : stopProcess(named, context);
  }
  say(found.map(formatProcess));
  const chosen = await choose("processes", found.flatMap(toChoices));
  const [verb, numberText] = chosen?.split(" ") ?? [];
  const named = found.find((one) => one.number === Number(numberText));
  if (named === undefined) return say([lineOf("Nothing was stopped.", "dim")]);
  return verb === "stop" ? stopProcess(named, context) : showOutput(named, context);
}

async function listProcesses({
  agent,
  store,
  sessionId,
  background,
}: CommandContext): Promise<readonly ListedProcess[]> {
  const here = background.list().filter((one) => one.sessionId === sessionId);
  const before = (await listEarlierProcesses(agent, store, sessionId, background)).map((earlier): ListedProcess => {
    const { number, command, fate, pid } = earlier;
    const state = `${fateTexts[fate]}, process id ${pid}, from before`;
    return { number, command, state, isRunning: fate === "running", earlier };
  });
  const now = Date.now();
  return [
    ...before,
    ...here.map(({ number, command, pid, startedAt, ended }): ListedProcess => {
      const state = ended ?? `running for ${formatDuration(Math.max(0, now - startedAt))}, process id ${pid}`;
      return { number, command, state, isRunning: ended === null, earlier: null };
    }),
  ];
}

const fateTexts = { running: "still runs", gone: "is gone", unknown: "may still run" } as const;

/** The processes of the session that an earlier process of this program started. */
async function listEarlierProcesses(
  agent: Agent,
  store: Store,
  sessionId: string,
  background: BackgroundProcesses,
): Promise<readonly EarlierProcess[]> {
  if ((await store.describe(sessionId)) === null) return [];
  return background.earlier(sessionId, await agent.session(sessionId).data());
}

function formatProcess({ number, command, state }: ListedProcess): Line {
  return [
    spanOf(`${number}  `, "bold"),
    spanOf(truncate(toOneLine(command), 60)),
    spanOf(`  ${toOneLine(state)}`, "dim"),
  ];
}

function toChoices({ number, command, isRunning, earlier }: ListedProcess): readonly Choice[] {
  const name = `${number}: ${truncate(toOneLine(command), 60)}`;
  return [
    ...(earlier === null ? [{ id: `show ${number}`, text: `show the output of ${name}` }] : []),
    ...(isRunning ? [{ id: `stop ${number}`, text: `stop ${name}` }] : []),
  ];
}

const maxLines = 200;

async function showOutput({ number, earlier }: ListedProcess, context: CommandContext): Promise<void> {
  const { background, sessionId, say } = context;
  const output = earlier === null ? background.output(sessionId, number) : null;
  if (output === null) return say([lineOf("Its output was lost when the program that started it ended.", "dim")]);
  await showFullText(context, { title: `process ${number}`, text: output, maxLines, empty: "(no output yet)" });
}

async function stopProcess({ number, isRunning, earlier }: ListedProcess, context: CommandContext): Promise<void> {
  const { background, sessionId, say } = context;
  if (!isRunning)
    return say([lineOf(`Process ${number} is not running, or its id may belong to another process now.`, "yellow")]);
  if (earlier === null) await background.stop(sessionId, number);
  else if (!earlier.stop()) return say([lineOf(`Process ${number} is gone already. Nothing was stopped.`, "yellow")]);
  say([lineOf(`Stopped process ${number}.`, "dim")]);
}

/** Reports to the person and to the model the state of the processes that ran when this program last ended. */
export async function reportEarlierProcesses(
  control: SessionControl,
  { agent, store, background }: Pick<CommandContext, "agent" | "store" | "background">,
  redact: (text: string) => string,
): Promise<void> {
  const { sessionId } = control;
  const before = await listEarlierProcesses(agent, store, sessionId, background);
  if (before.length === 0) return;
  const reports = before.map(({ number, command, fate }) => ({
    fact: `Process ${number} ran in the background and ${fateTexts[fate]}: ${toOneLine(redact(command))}.`,
    advice: fate === "running" ? ` /ps stop ${number} ends it.` : "",
  }));
  control.say(reports.map(({ fact, advice }) => lineOf(`${fact}${advice}`, "yellow")));
  const facts = reports.map(({ fact }) => fact).join("\n");
  control.join(createDataPart("The program that you work in has ended, and was started again:", facts));
  const gone = before.filter(({ fate }) => fate === "gone").map(({ number }) => `process ${number}`);
  if (gone.length > 0) await agent.session(sessionId).setData({ unset: gone });
}
