/**
 * The rules that a person is offered when a call asks: the narrowest rules that avoid the next question.
 */
import { posix } from "node:path";
import type { Json } from "../../index.js";
import { findPreset, type HostPattern } from "../../tools/sandbox/hosts.js";
import { sanitizeStrictly } from "../terminal/text.js";
import {
  allowsCommand,
  commandOf,
  executesInput,
  explainFolderControl,
  programOf,
  quoteWords,
} from "./command-pattern.js";
import { readSandboxRequest } from "./decide-sandbox.js";
import { findKnownCommand } from "./known-commands.js";
import { findFolderRisk } from "./reading-commands.js";
import { isPathTool, pathOfCall } from "./rule.js";
import type { ToolVersion } from "./rule-test.js";
import { type PlainCommand, parseShellLine } from "./shell-line.js";
import { isServerTool } from "./tool-version.js";

export type RuleOffer = {
  readonly rules: readonly string[];
  /** Describes the rules. */
  readonly label: string;
  /** What the person should know before the rule is stored. */
  readonly note?: string;
  /** Whether the rule may be stored beyond the session. */
  readonly canPersist: boolean;
};

/** The offers, or why there are none. */
export type RuleOffers = { readonly offers: readonly RuleOffer[] } | { readonly why: string };

export type OfferOptions = {
  /** Whether commands run in a sandbox, which bounds what files of the folder can make them do. */
  readonly isSandboxed: boolean;
  /** The hosts that every command may reach. Default: none. */
  readonly reachable?: readonly HostPattern[];
  /** The real path of the folder. */
  readonly root: string;
  /** Whether a command needs no rule, because it only reads. */
  readonly onlyReads: (command: PlainCommand) => Promise<boolean>;
  /** Whether a command may read the files that it gets as its input. */
  readonly readsInputsBelow: (command: PlainCommand) => boolean;
  /** The version of the called tool, if it belongs to an MCP server. */
  readonly version?: ToolVersion | undefined;
  readonly platform?: NodeJS.Platform;
};

export async function createOffers(
  call: { readonly name: string; readonly input: Json },
  options: OfferOptions,
): Promise<RuleOffers> {
  const { name, input } = call;
  if (name === "shell") return await createSandboxOffers(input, options);
  if (isPathTool(name)) return { offers: createPathOffers(name, pathOfCall(name, input)) };
  if (name === "fetch_url") return createWebOffers(readTextField(input, "url"));
  if (!isServerTool(name))
    return { offers: [{ rules: [name], label: `${name}, whatever its input is`, canPersist: true }] };
  const { version } = options;
  if (version === undefined) return { why: "No rule can allow this, because no server lists the tool now." };
  const label = `${name} as it is now, whatever its input is`;
  return { offers: [{ rules: [`${name}@${version.hash}`], label, canPersist: true }] };
}

function readTextField(input: Json, field: string): string {
  const value = (input as { readonly [name: string]: Json } | null)?.[field];
  return typeof value === "string" ? value : "";
}

/** A command that runs outside is offered word for word; one that asks for hosts, together with these hosts. */
async function createSandboxOffers(input: Json, options: OfferOptions): Promise<RuleOffers> {
  const { line, hosts, problem, isOutside } = readSandboxRequest(input);
  if (problem !== null) return { why: `No rule can allow this line, because ${problem}.` };
  if (isOutside) {
    const rule = `outside(${line})`;
    if (sanitizeStrictly(rule) !== rule || rule.includes("\n") || rule.length > maxRuleCharacters)
      return { why: "No rule can allow this line, because it has several lines, or is too long for a rule." };
    return { offers: [{ rules: [rule], label: `"${line}" outside of the sandbox, exactly this`, canPersist: true }] };
  }
  const { reachable = [] } = options;
  const asked = hosts.filter((host) => !reachable.some((one) => one.covers(host)));
  const ofCommand = await createShellOffers(line, options);
  if (asked.length === 0) return ofCommand;
  const names = removeDuplicates(asked.map((host) => findPreset(host) ?? host.text));
  const reach = names.map((name) => `reach(${name})`);
  const label = `reach ${names.join(" and ")}`;
  const withHosts = "why" in ofCommand ? [] : ofCommand.offers;
  return {
    offers: [
      { rules: reach, label: `all commands ${label}`, canPersist: true },
      ...withHosts.map((offer) => ({
        ...offer,
        rules: [...reach, ...offer.rules],
        label: `${offer.label}, and all commands ${label}`,
      })),
    ],
  };
}

const maxRuleCharacters = 1_000;

async function createShellOffers(
  line: string,
  { isSandboxed, root, onlyReads, readsInputsBelow, platform = process.platform }: OfferOptions,
): Promise<RuleOffers> {
  const parsed = await parseShellLine(line, root);
  if (!parsed.ok) return { why: `No rule can allow this line, because ${parsed.why}.` };
  const commands: PlainCommand[] = [];
  for (const command of parsed.commands) if (!(await onlyReads(command))) commands.push(command);
  const why = commands.map(explainNoRule).find((one) => one !== null);
  if (why !== undefined) return { why: `No rule can allow this line, because ${why}.` };
  if (!commands.every(readsInputsBelow))
    return {
      why: "No rule can allow this line, because the input of a command is a file that may not be read unasked.",
    };
  for (const command of commands) {
    const risk = await findFolderRisk(command, root);
    if (risk !== null)
      return { why: `No rule can allow this line: it may run programs that the folder names, because ${risk}.` };
  }
  const controlNotes = [...new Set(commands.flatMap(({ words }) => explainFolderControl(commandOf(words)) ?? []))];
  const note = controlNotes.length === 0 ? {} : { note: controlNotes.join(" ") };
  const canPersist = controlNotes.length === 0 || isSandboxed;
  const toOffer = (all: readonly RuleWords[], isWhole: boolean): RuleOffer => ({
    rules: removeDuplicates(all.map(({ words, folder }) => formatShellRule(words, folder, isWhole ? "" : " *"))),
    label: `shell ${removeDuplicates(all.map(quoteCommand)).join(" and ")}${isWhole ? ", exactly this" : " with any arguments"}`,
    canPersist,
    ...note,
  });
  const prefixes = commands.flatMap((command) => findCommandPrefix(command) ?? []);
  const prefixOffers = platform === "win32" || prefixes.length < commands.length ? [] : [toOffer(prefixes, false)];
  // In a rule, * has its own meaning.
  const isExpressible = commands.every(({ words }) => !words.some((word) => word.includes("*")));
  const offers = [...prefixOffers, ...(isExpressible ? [toOffer(commands.map(toWholeCommand), true)] : [])];
  if (commands.length === 0)
    return { why: "This line only reads. A rule asks about it, and no other rule is stronger." };
  if (offers.length > 0) return { offers };
  return {
    why: "No rule can allow this line, because a * in a rule matches any further words, not file names.",
  };
}

/** The command that a rule names: its words, and its folder if the command does something else in another one. */
type RuleWords = { readonly words: readonly string[]; readonly folder: string };

function explainNoRule({ words, isFed }: PlainCommand): string | null {
  if (isFed && executesInput(words)) return `${programOf(words)} executes its input`;
  const isOdd = words.some((word) => word.includes("\n") || (word.includes("'") && word.includes('"')));
  if (isOdd) return "new lines and both kinds of quotes in a word cannot be written in a rule";
  return null;
}

function toWholeCommand({ words, folder }: PlainCommand): RuleWords {
  const variables = words.slice(0, words.indexOf(programOf(words)));
  const command = commandOf(words);
  return { words: [...variables, ...command], folder: explainFolderControl(command) === null ? "" : folder };
}

/** The beginning of a command that may be followed by any arguments; null if only the whole command may be allowed. */
function findCommandPrefix(command: PlainCommand): RuleWords | null {
  const { words, folder } = toWholeCommand(command);
  const commandWords = commandOf(words);
  const known = findKnownCommand(commandWords);
  if (known === null) return null;
  const prefix = words.slice(0, words.length - commandWords.length + known.words.length);
  return allowsCommand({ words: prefix, anyFurther: true, folder: null }, { ...command, folder: "" })
    ? { words: prefix, folder }
    : null;
}

function formatShellRule(words: readonly string[], folder: string, end: string): string {
  return `shell(${folder === "" ? "" : `cd ${quoteWords([folder])} && `}${quoteWords(words)}${end})`;
}

function quoteCommand({ words, folder }: RuleWords): string {
  return `"${words.join(" ")}"${folder === "" ? "" : ` in ${folder}`}`;
}

function removeDuplicates(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

function createPathOffers(tool: string, givenPath: string): readonly RuleOffer[] {
  const path = posix.normalize(givenPath).replace(/^\.\//, "");
  if (/^!|[*?{}()]/.test(path) || path === "." || path.startsWith("../"))
    return [{ rules: [tool], label: `${tool} for every path`, canPersist: true }];
  const folder = posix.dirname(path);
  const below =
    folder === "." || folder === "/"
      ? []
      : [{ rules: [`${tool}(${folder}/**)`], label: `${tool} below ${folder}`, canPersist: true }];
  return [{ rules: [`${tool}(${path})`], label: `${tool} for ${path}`, canPersist: true }, ...below];
}

function createWebOffers(text: string): RuleOffers {
  if (!URL.canParse(text)) return { why: "No rule can allow this, because it is not an address." };
  const { host } = new URL(text);
  return { offers: [{ rules: [`fetch_url(${host})`], label: `fetch_url from ${host}`, canPersist: true }] };
}
