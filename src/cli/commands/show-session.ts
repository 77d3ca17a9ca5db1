/**
 * `pawl sessions show`: prints the transcripts of a session and its children.
 */
import type { Agent, RunWait, SessionSummary } from "../../index.js";
import { agentName, isFolderChild } from "../agent/agent-name.js";
import { createPassiveAgent } from "../agent/passive-agent.js";
import { isAnswered } from "../agent/running-sessions.js";
import { getSession, shortId } from "../files/session-store.js";
import { formatModel } from "../render/format-model.js";
import { createRenderer, type Renderer } from "../render/renderer.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";
import { formatWait } from "../wait-text.js";
import { type JsonOption, progressOf, withStore } from "./sessions.js";

export type ShowOptions = JsonOption & { readonly numbers?: true };

export function show(id: string, options: ShowOptions, terminal: Terminal): Promise<number> {
  return withStore(async (store) => {
    const summary = await getSession(store, id);
    const agent = createPassiveAgent(store);
    if (options.json === true) {
      for await (const event of agent.session(summary.sessionId).events({ follow: false })) terminal.json(event);
      return;
    }
    terminal.out(formatHeading(terminal.redaction.value(summary), terminal));
    await printTranscript(agent, summary.sessionId, options.numbers === true, terminal);
    const { sessionId } = summary;
    const progress = progressOf(summary);
    const short = sanitize(shortId(sessionId));
    const { agent: agentOfSession = "" } = summary.info ?? {};
    const isOwn = agentOfSession === agentName || isFolderChild(agentOfSession);
    if (progress === "queued")
      terminal.hint(`The run has not begun. ${isOwn ? `To begin it: pawl resume ${short}` : whoBegins}\n`);
    if (progress === "interrupted")
      terminal.hint(`The run was interrupted. ${isOwn ? `To continue: pawl resume ${short}` : whoContinues}\n`);
    if (progress !== "waiting") return;
    const result = await agent.session(sessionId).result();
    if (result?.status === "waiting") terminal.hint(describeWaits(result.waits, terminal));
    else if (await isAnswered(store, summary))
      terminal.hint(
        `The answer is stored, and no process has continued the run. ${isOwn ? `To continue: pawl resume ${short}` : whoContinues}\n`,
      );
    else terminal.hint(`The run waits for an answer. To answer: pawl resume ${short}, or pawl approvals ${short}\n`);
  });
}

const whoBegins = "A worker begins it, or the program that has its agent.";
const whoContinues = "A worker continues the run, or the program that has its agent.";

/** Describes the waits that no command of `pawl` can end: how to send their signals, and what continues the run. */
function describeWaits(waits: readonly RunWait[], terminal: Terminal): string {
  const sentences = terminal.redaction.value(waits).map((wait) => {
    if (wait.on === "child") return `The run waits: ${formatWait(wait)}.`;
    const text = `The run is ${formatWait(wait)}.`;
    if (wait.on === "time") return text;
    const { key = "" } = wait;
    const name = sanitize(JSON.stringify(key));
    return `${text} To send it: client.signal(${name}, value), or POST /v1/signals/${sanitize(encodeURIComponent(key))} on a server`;
  });
  return `${[...sentences, whoContinues].join("\n")}\n`;
}

function formatHeading(summary: SessionSummary, { styleOut }: Terminal): string {
  const { info } = summary;
  const facts = [
    `session ${sanitize(summary.sessionId)}`,
    progressOf(summary),
    `started ${new Date(summary.createdAt).toISOString()}`,
    ...(info === null ? [] : [`model ${sanitize(formatModel(info.model))}`]),
    ...(info?.root === undefined ? [] : [`in ${sanitize(info.root)}`]),
  ];
  return `${styleOut("dim", facts.join(" · "))}\n`;
}

async function printTranscript(
  agent: Agent,
  sessionId: string,
  isNumbered: boolean,
  terminal: Terminal,
): Promise<void> {
  const renderers = new Map<string, Renderer>();
  for await (const item of agent.session(sessionId).events({ follow: false, children: true })) {
    if (item.type === "children_omitted") {
      terminal.err(`Session ${sanitize(item.sessionId)} is left out (${item.why}).\n`);
      continue;
    }
    const indent = "  ".repeat(Math.min(item.depth, maxIndents));
    const columns = terminal.columns() - indent.length;
    const renderer =
      renderers.get(item.sessionId) ??
      createRenderer({ style: terminal.styleOut, columns, showInput: true, isTranscript: true });
    renderers.set(item.sessionId, renderer);
    const shown = renderer
      .show(terminal.redaction.value(item))
      .map(({ text }) => text)
      .join("");
    const lines = isNumbered && "seq" in item ? numberLines(shown, item.seq, terminal) : shown;
    terminal.out(lines.replace(/^(?=.)/gm, indent));
    // The session itself may have queued runs.
    if (item.type === "final" && item.depth > 0) renderers.delete(item.sessionId);
  }
}

/** The maximum indentation. Deeper children are not indented further. */
const maxIndents = 8;

const numberWidth = 5;

/** Puts the entry's number in front of the first line, and indents the other lines as far. */
function numberLines(text: string, seq: number, { styleOut }: Terminal): string {
  const [first = "", ...others] = text.replace(/\n$/, "").split("\n");
  if (text === "") return "";
  const lines = [
    `${styleOut("dim", String(seq).padStart(numberWidth))} ${first}`,
    ...others.map((line) => `${" ".repeat(numberWidth + 1)}${line}`),
  ];
  return `${lines.join("\n")}\n`;
}
