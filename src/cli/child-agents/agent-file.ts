/**
 * Child agents in files: `NAME.md` with front matter and a system prompt, in the format that other programs also use.
 *
 * 1. A file only restricts: its tools are a subset of the parent's, and the permission rules of the session still apply. Only
 *    `permissionMode: acceptEdits` grants something, and the trust question says so.
 * 2. Keys and tools that Pawl does not know are ignored and reported. A file that restricts its agent in a way that Pawl does not
 *    support is off.
 */
import { join } from "node:path";
import { parseFrontMatterText } from "../../tools/sources/front-matter.js";
import {
  readProjectTexts,
  readUserTexts,
  type TextFile,
  type TextFileKind,
  type TextFiles,
} from "../files/text-folder.js";
import type { AgentMode } from "../permissions/mode.js";
import { agentToolPrefix, isAgentTool, isBuiltInTool, toolsElsewhere } from "../permissions/rule.js";
import { isNear } from "../terminal/is-near.js";
import { toOneLine, truncate } from "../terminal/text.js";

export type AgentFile = TextFile & {
  /** When to call the agent, for the model. */
  readonly description: string;
  /** Names of tools; null for all tools of the parent. */
  readonly tools: readonly string[] | null;
  /** Names of tools that the agent does not have, whatever `tools` says. `*` is all of them. */
  readonly disallowedTools: readonly string[];
  /** `provider/model`, or a name of the setting `models`; null for the parent's model. */
  readonly model: string | null;
  readonly mode: AgentMode;
  /** Whether the tool's description asks the model to start the agent in the background. */
  readonly background: boolean;
  readonly limits: { readonly maxSteps?: number; readonly maxTokens?: number; readonly maxCostUsd?: number };
  readonly prompt: string;
  /** The parts of the file that have no effect, in whole sentences. */
  readonly notes: readonly string[];
};

export type AgentFiles = TextFiles<AgentFile>;

/** The folders of agents within a project folder. If two define an agent with the same name, the first trusted one is used. */
export const folderAgentsNames = [".pawl/agents", ".claude/agents"] as const;

/** A longer description is cut: the descriptions of all agents are in each request. */
const maxDescription = 400;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,49}$/;

const agentKind: TextFileKind<AgentFile> = {
  noun: "an agent",
  plural: "agents",
  maxFiles: 50,
  maxBytes: 64 * 1024,
  maxTotalBytes: 512 * 1024,
  checkName() {},
  parse: parseAgentFile,
};

/** Reads the person's own agents, from the folder of their configuration. Several may have the same name. */
export function readUserAgents(configuration: string): AgentFiles {
  return readUserTexts(join(configuration, "agents"), agentKind);
}

/** Reads the agents that a folder supplies, whether they are trusted or not. Several may have the same name. */
export function readFolderAgents(root: string): AgentFiles {
  const folders = folderAgentsNames.map((name) => readProjectTexts(root, name, agentKind));
  return { list: folders.flatMap(({ list }) => list), problems: folders.flatMap(({ problems }) => problems) };
}

/** The name of the tool that calls the agent. */
export function nameAgentTool({ name }: Pick<AgentFile, "name">): string {
  return `${agentToolPrefix}${name}`;
}

/** @throws Error that says why the file is ignored */
export function parseAgentFile(file: TextFile): AgentFile {
  const parsed = parseFrontMatterText(file.text);
  if (parsed === null) throw new Error("it does not begin with front matter between two lines ---");
  const { value, list, keys, ignoredLines } = parsed;
  const [ignoredLine] = ignoredLines;
  if (ignoredLine !== undefined)
    throw new Error(`its line ${truncate(toOneLine(ignoredLine), maxShown)} cannot be read: write it as key: value`);
  const name = value("name") ?? file.name;
  if (!namePattern.test(name))
    throw new Error(
      "its name must be at most 50 letters, digits, hyphens and underscores, and begin with a letter or a digit",
    );
  const description = value("description");
  if (description === undefined) throw new Error("it has no description");
  const prompt = parsed.body.trim();
  if (prompt === "") throw new Error("it has no text below the front matter: write the system prompt there");
  const tools = parseTools(list("tools"));
  const disallowed = parseDisallowedTools(list("disallowedTools") ?? []);
  const { mode, note } = parseMode(value("permissionMode"));
  const model = value("model");
  const maxSteps = parsePositive("maxTurns", value("maxTurns"));
  const maxTokens = parsePositive("maxTokens", value("maxTokens"));
  const maxCostUsd = parsePositive("budget", value("budget")?.replace(/^\$/, ""));
  return {
    ...file,
    name,
    description: truncate(toOneLine(description), maxDescription),
    tools: tools.names,
    disallowedTools: disallowed.names,
    model: model === undefined || model === "inherit" ? null : model,
    mode,
    background: parseYesOrNo("background", value("background")),
    limits: {
      ...(maxSteps === undefined ? {} : { maxSteps: Math.ceil(maxSteps) }),
      ...(maxTokens === undefined ? {} : { maxTokens: Math.ceil(maxTokens) }),
      ...(maxCostUsd === undefined ? {} : { maxCostUsd }),
    },
    prompt,
    notes: [...tools.notes, ...disallowed.notes, ...(note === undefined ? [] : [note]), ...describeUnknownKeys(keys)],
  };
}

type ParsedTools<Names> = { readonly names: Names; readonly notes: readonly string[] };

function parseTools(words: readonly string[] | undefined): ParsedTools<readonly string[] | null> {
  if (words === undefined || words.includes("*")) return { names: null, notes: [] };
  const { names, notes } = readToolWords(
    words,
    (patterned) => `The patterns in parentheses are ignored: ${patterned}. Calls ask unless a rule allows them.`,
  );
  return { names, notes };
}

/** @throws Error for an entry that is not a tool's name: the agent would have a tool that the file takes away */
function parseDisallowedTools(words: readonly string[]): ParsedTools<readonly string[]> {
  if (words.includes("*")) return { names: ["*"], notes: [] };
  const { unknown, ...parsed } = readToolWords(
    words,
    (patterned) => `disallowedTools takes the whole tool away, not only what the pattern names: ${patterned}.`,
  );
  const invalid = unknown.find((word) => !/^[\w-]+(?:\(.*\))?$/s.test(word));
  if (invalid !== undefined)
    throw new Error(
      `its disallowedTools has ${truncate(toOneLine(invalid), maxShown)}, which is not a name: separate names by commas`,
    );
  return parsed;
}

/**
 * Reads the entries of a list: names of tools, also with a pattern, as in `Bash(git diff:*)`.
 * @param describePatterns says what becomes of the entries with a pattern
 */
function readToolWords(
  words: readonly string[],
  describePatterns: (entries: string) => string,
): ParsedTools<readonly string[]> & { readonly unknown: readonly string[] } {
  const names = new Set<string>();
  const unknown: string[] = [];
  const patterned: string[] = [];
  for (const word of words) {
    const [, tool = "", pattern] = /^([^()\s]+)(\(.*\))?$/s.exec(word) ?? [];
    const name = findTool(tool);
    if (!isKnownTool(name)) unknown.push(word);
    else {
      names.add(name);
      if (pattern !== undefined) patterned.push(word);
    }
  }
  // The process tools belong to the commands that start the processes.
  if (names.has("shell")) for (const name of ["read_process", "stop_process"]) names.add(name);
  return {
    names: [...names],
    notes: [
      ...(unknown.length === 0 ? [] : [`There is no tool ${formatList(unknown)}.${suggestName(unknown, toolNames)}`]),
      ...(patterned.length === 0 ? [] : [describePatterns(formatList(patterned))]),
    ],
    unknown,
  };
}

const toolNames: ReadonlySet<string> = new Set([...toolsElsewhere.keys(), ...toolsElsewhere.values()]);

/** The sentence about the first word that is close to a name; empty if none is. */
function suggestName(unknown: readonly string[], names: ReadonlySet<string>): string {
  // Any two short words are close.
  const [nearest] = unknown.flatMap((word) => (word.length > 3 ? [...names].filter((name) => isNear(name, word)) : []));
  return nearest === undefined ? "" : ` Did you mean ${nearest}?`;
}

/** The tool that a word means, whatever the case of a name from elsewhere: an agent without `bash` has no shell. */
function findTool(word: string): string {
  const [, name] = [...toolsElsewhere].find(([other]) => other.toLowerCase() === word.toLowerCase()) ?? [];
  return name ?? word;
}

function isKnownTool(name: string): boolean {
  return (isBuiltInTool(name) && !isAgentTool(name)) || /^mcp__[\w-]+(?:__\*)?$/.test(name);
}

function parseMode(word: string | undefined): { readonly mode: AgentMode; readonly note?: string } {
  switch (word) {
    case undefined:
    case "default":
      return { mode: "ask" };
    case "acceptEdits":
      return { mode: "edits" };
    case "plan":
      return { mode: "read" };
    case "dontAsk":
      return { mode: "deny" };
    case "bypassPermissions":
      return { mode: "ask", note: "permissionMode: bypassPermissions grants nothing. Calls ask." };
    default:
      return {
        mode: "ask",
        note: `permissionMode: ${truncate(toOneLine(word), maxShown)} is unknown. Calls ask. Known modes: default, acceptEdits, plan and dontAsk.`,
      };
  }
}

/** @throws Error unless it is true or false */
function parseYesOrNo(key: string, text: string | undefined): boolean {
  const word = text?.toLowerCase() ?? "false";
  if (word !== "true" && word !== "false") throw new Error(`its ${key} must be true or false`);
  return word === "true";
}

/** @throws Error unless it is a valid limit above 0: an invalid limit must not be ignored */
function parsePositive(key: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (number > Number.MAX_SAFE_INTEGER) throw new Error(`its ${key} must be at most ${Number.MAX_SAFE_INTEGER}`);
  if (!(number > 0)) throw new Error(`its ${key} must be a number above 0, such as ${key === "budget" ? "0.5" : "20"}`);
  return number;
}

/** `color` only affects how other programs show an agent, so it is ignored without a report. */
const knownKeys: ReadonlySet<string> = new Set([
  ...[
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "permissionMode",
    "maxTurns",
    "maxTokens",
    "budget",
    "background",
    "color",
  ],
]);
const maxListed = 10;
/** Columns of one word in a message. */
const maxShown = 60;

function describeUnknownKeys(keys: readonly string[]): readonly string[] {
  const unknown = [...new Set(keys)].filter((key) => !knownKeys.has(key));
  if (unknown.length === 0) return [];
  return [`These keys have no effect: ${formatList(unknown)}.${suggestName(unknown, knownKeys)}`];
}

function formatList(words: readonly string[]): string {
  const shown = words.slice(0, maxListed).map((word) => truncate(toOneLine(word), maxShown));
  const more = words.length - shown.length;
  return [...shown, ...(more === 0 ? [] : [`${more} more`])].join(", ");
}

/** The words by which other programs name the models of one provider. */
export const modelsElsewhere: ReadonlySet<string> = new Set(["sonnet", "opus", "haiku"]);

/** The effects of trusting the file, as the trust question lists them. */
export function describeAgentEffects({ name, tools, disallowedTools, model, mode }: AgentFile): readonly string[] {
  const modes: { readonly [Mode in AgentMode]: readonly string[] } = {
    ask: [],
    edits: ["lets that agent write files of this folder without asking"],
    read: ["lets that agent only read"],
    deny: ["denies that agent every call that would ask you"],
  };
  return [
    `adds the agent ${name}, which the model may start with this text`,
    tools === null
      ? "gives that agent all tools of the session"
      : `gives that agent these tools of the session: ${tools.join(", ") || "none"}`,
    ...(disallowedTools.length === 0 ? [] : [`takes these tools from that agent: ${disallowedTools.join(", ")}`]),
    ...(model === null
      ? []
      : [
          `sends its conversation to the model ${model}${modelsElsewhere.has(model) ? ", if the setting models defines it" : ""}`,
        ]),
    ...modes[mode],
  ];
}
