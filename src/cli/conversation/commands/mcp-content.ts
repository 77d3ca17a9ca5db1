/**
 * `/mcp accept`, `/mcp read` and `/mcp prompt`: a person uses the tools, resources and prompts of an MCP server. Its content is
 * untrusted: tools and prompts are shown before they are used, and a resource is attached to the next message as quoted data.
 */
import { PawlError } from "../../../index.js";
import type { McpPrompt, McpServer } from "../../../tools/mcp/index.js";
import { readResource, requireRunning } from "../../agent/server-resources.js";
import { formatArguments } from "../../mcp/list-content.js";
import type { StartedServer } from "../../mcp/start-servers.js";
import { splitWords } from "../../mcp/typed-argument.js";
import { lineOf, linesOf } from "../../screen/line.js";
import { formatCount, sanitize, toOneLine } from "../../terminal/text.js";
import { type CommandContext, createMustWaitLine, isAtWork, restartTalk } from "./command-context.js";
import { showFullText } from "./show-full-text.js";

/** The maximum number of lines that are shown in the conversation even if there is a pager. */
const maxUnpagedLines = 60;
/** The maximum number of lines that are shown without a pager. */
const maxLines = 200;
const maxChoices = 200;

/** Shows the new and the changed tools of a server, and offers them to the model if the person accepts them. */
export async function acceptServerTools(context: CommandContext, started: StartedServer): Promise<void> {
  const { say, choose, acceptTools } = context;
  const { name } = started;
  const server = requireRunning(started);
  if (await isAtWork(context)) return say([createMustWaitLine("/mcp accept")]);
  const names = [...server.waiting(), ...server.changed()];
  if (names.length === 0) return say([lineOf(`${name} has no new or changed tools.`, "dim")]);
  const shown = formatVersions(server, names);
  await show(context, `new and changed tools of ${name}`, shown);
  const chosen = await choose(`accept from ${name}`, [
    { id: "none", text: "leave them as they are" },
    { id: "accept", text: `accept ${formatCount(names.length, "tool")}` },
  ]);
  if (chosen !== "accept") return say([lineOf("No tool was accepted.", "dim")]);
  if (formatVersions(server, names) !== shown)
    return say([
      lineOf(`The tools of ${name} have changed in the meantime. Look at them again: /mcp accept`, "yellow"),
    ]);
  acceptTools(name, names);
  say([lineOf(`Accepted ${formatCount(names.length, "tool")} of ${name}.`)]);
  await restartTalk(context);
}

function formatVersions(server: McpServer, names: readonly string[]): string {
  const isNew = new Set(server.waiting());
  return names
    .map((name) => {
      const { description = "", input = {} } = server.latest(name) ?? {};
      return `${name} (${isNew.has(name) ? "new" : "changed"})\n${description}\n${JSON.stringify(input, null, 2)}`;
    })
    .join("\n\n");
}

/** @param uri the address of a resource; empty: the person chooses one */
export async function readServerResource(context: CommandContext, started: StartedServer, uri: string): Promise<void> {
  const { say, join } = context;
  const server = requireRunning(started);
  const address = uri === "" ? await chooseResource(context, server) : uri;
  if (address === null) return;
  const { parts, size } = await askServer(context, server, (signal) => readResource(server, address, signal));
  for (const part of parts) join(part);
  say([lineOf(toOneLine(`${address} is attached to your next message: ${size}.`), "dim")]);
}

async function chooseResource(context: CommandContext, server: McpServer): Promise<string | null> {
  const { say, choose } = context;
  const { resources } = await askServer(context, server, (signal) => server.resources({ signal }));
  if (resources.length === 0) {
    say([lineOf(`${server.name} lists no resources. To read one by its address: /mcp read ${server.name} URI`, "dim")]);
    return null;
  }
  const choices = resources
    .slice(0, maxChoices)
    .map(({ uri, name }) => ({ id: uri, text: toOneLine(`${name} ${uri}`) }));
  return await choose(`read from ${server.name}`, choices);
}

/** @param words the name of a prompt and its arguments; empty: the person chooses a prompt without arguments */
export async function sendServerPrompt(context: CommandContext, started: StartedServer, words: string): Promise<void> {
  const { say, choose, send } = context;
  const server = requireRunning(started);
  const prompts = await askServer(context, server, (signal) => server.prompts({ signal }));
  const [given, ...args] = splitWords(words);
  const chosenName = given ?? (await choosePrompt(context, server, prompts));
  if (chosenName === null) return;
  const prompt = prompts.find(({ name }) => name === chosenName);
  if (prompt === undefined) throw createUnknownPromptError(server, chosenName, prompts);
  const values = assignArguments(server, prompt, args);
  const { messages } = await askServer(context, server, (signal) => server.prompt(prompt.name, values, { signal }));
  const text = messages.map(({ role, text }) => (role === "user" ? text : `(the assistant:) ${text}`)).join("\n\n");
  await show(context, `prompt ${prompt.name} of ${server.name}`, text);
  const chosen = await choose(`send the prompt of ${server.name}`, [
    { id: "none", text: "send nothing" },
    { id: "send", text: "send this text as my message" },
  ]);
  // The server's text mentions no files of the folder.
  if (chosen === "send") send(text, "");
  else say([lineOf("Nothing was sent.", "dim")]);
}

async function choosePrompt(
  { say, choose }: CommandContext,
  { name: server }: McpServer,
  prompts: readonly McpPrompt[],
): Promise<string | null> {
  if (prompts.length === 0) {
    say([lineOf(`${server} has no prompts.`, "dim")]);
    return null;
  }
  const choices = prompts.slice(0, maxChoices).map((prompt) => {
    const about = prompt.description === undefined ? "" : ` · ${prompt.description}`;
    return { id: prompt.name, text: toOneLine(`${formatUsage(prompt)}${about}`) };
  });
  return await choose(`prompt of ${server}`, choices);
}

function formatUsage(prompt: McpPrompt): string {
  return `${prompt.name} ${formatArguments(prompt)}`.trimEnd();
}

/** @throws PawlError `bad_input` for missing or extra arguments */
function assignArguments(
  server: McpServer,
  prompt: McpPrompt,
  args: readonly string[],
): { readonly [name: string]: string } {
  const { arguments: all } = prompt;
  const isComplete = all.every(({ required }, index) => !required || args[index] !== undefined);
  if (!isComplete || args.length > all.length)
    throw new PawlError("bad_input", `Write: /mcp prompt ${server.name} ${formatUsage(prompt)}`);
  return Object.fromEntries(args.map((value, index) => [all[index]?.name ?? "", value]));
}

function createUnknownPromptError(server: McpServer, name: string, prompts: readonly McpPrompt[]): PawlError {
  const names = prompts.length === 0 ? "It has none." : `It has: ${prompts.map((prompt) => prompt.name).join(", ")}.`;
  return new PawlError("bad_input", `The MCP server ${server.name} has no prompt ${JSON.stringify(name)}. ${names}`);
}

/** Waits for a server; Esc ends the wait. */
async function askServer<T>(
  { atWork }: Pick<CommandContext, "atWork">,
  { name }: McpServer,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopped = new AbortController();
  const endActivity = atWork(`waits for ${name}`, () => stopped.abort(new Error("you have stopped the request")));
  return await ask(stopped.signal).finally(endActivity);
}

/** Shows text right above the question about it, or in the pager if it is long. */
async function show(context: CommandContext, title: string, text: string): Promise<void> {
  const lines = linesOf(sanitize(context.redaction.text(text)));
  if (lines.length <= maxUnpagedLines) return context.say([lineOf(`${title}:`, "dim"), ...lines]);
  const hidden = await showFullText(context, { title, text, maxLines });
  if (hidden > 0) context.say([lineOf(`${formatCount(hidden, "line")} above: set PAGER to see all.`, "yellow")]);
}
