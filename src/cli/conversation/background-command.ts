/**
 * `/ps`: the processes that commands of the session have started in the background; and what became of those that were
 * started before this program.
 *
 * 1. A process from before is signalled only if it is surely the same one: its id, its start and the boot are compared.
 */
import type { Agent, Store } from "../../index.js";
import type { BackgroundProcesses, EarlierProcess } from "../../tools/index.js";
import { dataPart } from "../attachments.js";
import { type Line, lineOf, spanOf } from "../screen/line.js";
import type { Choice } from "../screen/picker.js";
import { cut, duration, oneLine } from "../text.js";
import type { CommandContext } from "./session-commands.js";
import type { SessionControl } from "./session-control.js";
import { showWhole } from "./show-whole.js";

type Found = {
  readonly number: number;
  readonly command: string;
  readonly state: string;
  readonly isRunning: boolean;
  /** It was started by an earlier process of this program. */
  readonly earlier: EarlierProcess | null;
};

/** @param words nothing, `N` for the output of a process, or `stop N` */
export async function processes(context: CommandContext, words: string): Promise<void> {
  const { say, choose } = context;
  const found = await foundIn(context);
  if (found.length === 0) return say([lineOf("No process of this session runs in the background.", "dim")]);
  const [, stop, number] = /^(?:(stop)\s+)?(\d{1,6})$/.exec(words) ?? [];
  if (number !== undefined) {
    const named = found.find((one) => one.number === Number(number));
    if (named === undefined) return say([lineOf(`There is no process ${number}. /ps lists them.`, "yellow")]);
    return stop === undefined ? showOutput(named, context) : stopProcess(named, context);
  }
  say(found.map(lineOfProcess));
  const chosen = await choose("processes", found.flatMap(choicesOf));
  const [act, which] = chosen?.split(" ") ?? [];
  const named = found.find((one) => one.number === Number(which));
  if (named === undefined) return say([lineOf("Nothing was stopped.", "dim")]);
  return act === "stop" ? stopProcess(named, context) : showOutput(named, context);
}

async function foundIn({ agent, store, sessionId, background }: CommandContext): Promise<readonly Found[]> {
  const here = background.list().filter((one) => one.sessionId === sessionId);
  const before = (await startedBefore(agent, store, sessionId, background)).map((earlier): Found => {
    const { number, command, fate, pid } = earlier;
    const state = `${fates[fate]}, process id ${pid}, from before`;
    return { number, command, state, isRunning: fate === "running", earlier };
  });
  const now = Date.now();
  return [
    ...before,
    ...here.map(({ number, command, pid, startedAt, ended }): Found => {
      const state = ended ?? `runs for ${duration(Math.max(0, now - startedAt))}, process id ${pid}`;
      return { number, command, state, isRunning: ended === null, earlier: null };
    }),
  ];
}

const fates = { running: "still runs", gone: "is gone", unknown: "may still run" } as const;

/** The processes that an earlier process of this program has started for the session. */
async function startedBefore(
  agent: Agent,
  store: Store,
  sessionId: string,
  background: BackgroundProcesses,
): Promise<readonly EarlierProcess[]> {
  if ((await store.describe(sessionId)) === null) return [];
  return background.earlier(sessionId, await agent.session(sessionId).data());
}

function lineOfProcess({ number, command, state }: Found): Line {
  return [spanOf(`${number}  `, "bold"), spanOf(cut(oneLine(command), 60)), spanOf(`  ${oneLine(state)}`, "dim")];
}

function choicesOf({ number, command, isRunning, earlier }: Found): readonly Choice[] {
  const name = `${number}: ${cut(oneLine(command), 60)}`;
  return [
    ...(earlier === null ? [{ id: `show ${number}`, text: `show the output of ${name}` }] : []),
    ...(isRunning ? [{ id: `stop ${number}`, text: `stop ${name}` }] : []),
  ];
}

const mostLines = 200;

async function showOutput({ number, earlier }: Found, context: CommandContext): Promise<void> {
  const { background, sessionId, say } = context;
  const output = earlier === null ? background.output(sessionId, number) : null;
  if (output === null) return say([lineOf("Its output ended with the program that had started it.", "dim")]);
  await showWhole(context, { title: `process ${number}`, text: output, mostLines, empty: "(no output yet)" });
}

async function stopProcess({ number, isRunning, earlier }: Found, context: CommandContext): Promise<void> {
  const { background, sessionId, say } = context;
  if (!isRunning) return say([lineOf(`Process ${number} does not run, or may be another one now.`, "yellow")]);
  if (earlier === null) await background.stop(sessionId, number);
  else if (!earlier.stop()) return say([lineOf(`Process ${number} is gone already. Nothing was stopped.`, "yellow")]);
  say([lineOf(`Stopped process ${number}.`, "dim")]);
}

/** Tells the person and the model what became of the processes that ran when this program last ended. */
export async function tellOfProcesses(
  control: SessionControl,
  { agent, store, background }: Pick<CommandContext, "agent" | "store" | "background">,
  safe: (text: string) => string,
): Promise<void> {
  const { sessionId } = control;
  const before = await startedBefore(agent, store, sessionId, background);
  if (before.length === 0) return;
  const told = before.map(({ number, command, fate }) => ({
    fact: `Process ${number} ran in the background and ${fates[fate]}: ${oneLine(safe(command))}.`,
    advice: fate === "running" ? ` /ps stop ${number} ends it.` : "",
  }));
  control.say(told.map(({ fact, advice }) => lineOf(`${fact}${advice}`, "yellow")));
  const facts = told.map(({ fact }) => fact).join("\n");
  control.join(dataPart("The program that you work in has ended, and was started again:", facts));
  const gone = before.filter(({ fate }) => fate === "gone").map(({ number }) => `process ${number}`);
  if (gone.length > 0) await agent.session(sessionId).setData({ unset: gone });
}
