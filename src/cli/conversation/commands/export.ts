/**
 * `/export`: writes the session to a file that can be read without Pawl.
 */
import { writeFileSync } from "node:fs";
import { extname, resolve } from "node:path";
import { textOfOutput } from "../../../core/index.js";
import { type Agent, PawlError, type Store, textOf } from "../../../index.js";
import { formatDecision } from "../../decisions/format-decision.js";
import { toFileName } from "../../files/eval-reports.js";
import { shortId } from "../../files/session-store.js";
import { formatEndedAgent } from "../../render/format-ended-agent.js";
import { lineOf } from "../../screen/line.js";
import type { Redaction } from "../../terminal/redaction.js";
import { formatJsonLine, joinWords } from "../../terminal/text.js";
import type { CommandContext } from "./command-context.js";
import { renderSessionPage } from "./session-page.js";

/** Entries per read. */
const pageSize = 1_000;

/** Writes a new file: Markdown, an HTML page, or the whole log with one line for each entry. */
export async function runExportCommand(context: CommandContext, name: string): Promise<void> {
  const { store, sessionId, root, say } = context;
  if ((await store.describe(sessionId)) === null)
    return say([lineOf("The session is empty: there is nothing to write.")]);
  const file = resolve(root, name === "" ? `pawl-${toFileName(shortId(sessionId))}.md` : name);
  const write = writers[extname(file).toLowerCase()];
  if (write === undefined)
    throw new PawlError(
      "bad_input",
      `Give a name that ends in ${joinWords(Object.keys(writers), "or")}: /export writes the format of that name.`,
    );
  const text = await write(context);
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new PawlError("bad_input", `${file} already exists. Give another name: /export FILE`, { cause: error });
  }
  say([lineOf(`Wrote ${file}`)]);
}

const writers: { readonly [extension: string]: ((context: CommandContext) => Promise<string>) | undefined } = {
  ".md": ({ agent, sessionId, redaction }) => exportMarkdown(agent, sessionId, redaction),
  ".html": exportHtml,
  ".htm": exportHtml,
  ".jsonl": ({ store, sessionId, redaction }) => exportLog(store, sessionId, redaction),
};

async function exportLog(store: Store, sessionId: string, redaction: Redaction): Promise<string> {
  const lines: string[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const entries: Awaited<ReturnType<Store["read"]>> = await store.read(sessionId, after, pageSize);
    for (const entry of entries) lines.push(formatJsonLine(redaction.value(entry)));
    after = entries.at(-1)?.seq;
  }
  return lines.join("");
}

async function exportHtml({ store, agent, sessionId, redaction }: CommandContext): Promise<string> {
  const summary = await store.describe(sessionId);
  const { title, root, model } = summary?.info ?? {};
  const facts = { title: title ?? `Session ${sessionId}`, sessionId, folder: root, model };
  return renderSessionPage(facts, agent.session(sessionId).events({ follow: false, live: false }), redaction.text);
}

/** A section for each speaker. A result that does not directly follow its call has the name of the call. */
async function exportMarkdown(agent: Agent, sessionId: string, redaction: Redaction): Promise<string> {
  const parts: string[] = [`# Session ${sessionId}`];
  const names = new Map<string, string>();
  let speaker: "person" | "agent" | null = null;
  let lastCall: string | null = null;
  const addAgentPart = (part: string) => {
    if (part.trim() === "") return;
    if (speaker !== "agent") parts.push("## Agent");
    speaker = "agent";
    lastCall = null;
    parts.push(part);
  };
  for await (const event of agent.session(sessionId).events({ follow: false, live: false })) {
    if ((event.type === "run_started" || event.type === "steered") && event.finishedChild !== undefined)
      addAgentPart(`${formatEndedAgent(event).text}.`);
    else if (event.type === "run_started" || event.type === "steered") {
      parts.push(`## You\n\n${event.input.map(textOf).join("\n")}`);
      speaker = "person";
      lastCall = null;
    } else if (event.type === "message") addAgentPart(textOf(event.message));
    else if (event.type === "tool_call") {
      names.set(event.callKey, event.name);
      addAgentPart(`### ${event.name}\n\n${fenceCode(JSON.stringify(event.input, null, 2), "json")}`);
      lastCall = event.callKey;
    } else if (event.type === "approval_answered") {
      addAgentPart(`${names.get(event.callKey) ?? "A call"}: ${formatDecision(event)}`);
      if (event.input !== undefined) addAgentPart(fenceCode(JSON.stringify(event.input, null, 2), "json"));
    } else if (event.type === "tool_result") {
      const isNext = lastCall === event.callKey;
      const output = fenceCode(textOfOutput(event.returned ?? event.output), "");
      addAgentPart(isNext ? output : `### ${names.get(event.callKey) ?? "A call"}, result\n\n${output}`);
      if (event.returned !== undefined) addAgentPart(`The model read:\n\n${fenceCode(textOfOutput(event.output), "")}`);
    }
  }
  return `${parts
    .filter((part) => part.trim() !== "")
    .map(redaction.text)
    .join("\n\n")}\n`;
}

/** A code block whose fence is longer than any fence in the text. */
function fenceCode(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
