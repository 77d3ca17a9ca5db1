/**
 * The rules that a person is offered when a call asks: the narrowest ones that spare them the next question.
 */
import { posix } from "node:path";
import type { Json } from "../../index.js";
import type { ToolVersion } from "./call-test.js";
import { allows, commandOf, definerOf, obeysInput, programOf, writtenWords } from "./command-pattern.js";
import { knownCommand } from "./programs.js";
import { folderRisk } from "./reading-commands.js";
import { isPathTool, pathOfCall } from "./rule.js";
import { type PlainCommand, readShellLine } from "./shell-line.js";
import { isServerTool } from "./tool-version.js";

export type Offer = {
  readonly rules: readonly string[];
  /** What the rules say, in words. */
  readonly says: string;
  /** What is to be known before the rule is kept. */
  readonly note?: string;
  /** Whether the rule may be kept for longer than the session. */
  readonly mayLast: boolean;
};

/** What is offered; or why nothing can be. */
export type Offers = { readonly offers: readonly Offer[] } | { readonly why: string };

export type OfferOptions = {
  /** Whether commands run in a sandbox: what a folder makes of them is then bounded. */
  readonly isSandboxed: boolean;
  /** The real path of the folder. */
  readonly root: string;
  /** Whether a command needs no rule, because it only reads. */
  readonly onlyReads: (command: PlainCommand) => Promise<boolean>;
  /** Whether a command may read the files that it gets as its input. */
  readonly readsInputsBelow: (command: PlainCommand) => boolean;
  /** Of the called tool, if an MCP server has it. */
  readonly version?: ToolVersion | undefined;
  readonly platform?: NodeJS.Platform;
};

export async function offersFor(
  call: { readonly name: string; readonly input: Json },
  options: OfferOptions,
): Promise<Offers> {
  const { name, input } = call;
  if (name === "shell") return await shellOffers(textIn(input, "command"), options);
  if (isPathTool(name)) return { offers: pathOffers(name, pathOfCall(name, input)) };
  if (name === "fetch_url") return webOffers(textIn(input, "url"));
  if (!isServerTool(name))
    return { offers: [{ rules: [name], says: `${name}, whatever its input is`, mayLast: true }] };
  const { version } = options;
  if (version === undefined) return { why: "No rule can allow this, because no server lists the tool now." };
  const says = `${name} as it is now, whatever its input is`;
  return { offers: [{ rules: [`${name}@${version.hash}`], says, mayLast: true }] };
}

function textIn(input: Json, field: string): string {
  const value = (input as { readonly [name: string]: Json } | null)?.[field];
  return typeof value === "string" ? value : "";
}

async function shellOffers(
  line: string,
  { isSandboxed, root, onlyReads, readsInputsBelow, platform = process.platform }: OfferOptions,
): Promise<Offers> {
  const read = await readShellLine(line, root);
  if (!read.ok) return { why: `No rule can allow this line, because ${read.why}.` };
  const commands: PlainCommand[] = [];
  for (const command of read.commands) if (!(await onlyReads(command))) commands.push(command);
  const why = commands.map(whyNoRule).find((one) => one !== null);
  if (why !== undefined) return { why: `No rule can allow this line, because ${why}.` };
  if (!commands.every(readsInputsBelow))
    return {
      why: "No rule can allow this line, because a command gets a file as its input that may not be read unasked.",
    };
  for (const command of commands) {
    const risk = await folderRisk(command, root);
    if (risk !== null)
      return { why: `No rule can allow this line: it may run programs that the folder names, because ${risk}.` };
  }
  const definers = [...new Set(commands.flatMap(({ words }) => definerOf(commandOf(words)) ?? []))];
  const note = definers.length === 0 ? {} : { note: definers.join(" ") };
  const mayLast = definers.length === 0 || isSandboxed;
  const offer = (all: readonly Words[], isWhole: boolean): Offer => ({
    rules: unique(all.map(({ words, folder }) => ruleFor(words, folder, isWhole ? "" : " *"))),
    says: `shell ${unique(all.map(said)).join(" and ")}${isWhole ? ", exactly this" : " with any arguments"}`,
    mayLast,
    ...note,
  });
  const beginnings = commands.flatMap((command) => beginningOf(command) ?? []);
  const further = platform === "win32" || beginnings.length < commands.length ? [] : [offer(beginnings, false)];
  // In a rule, * has a meaning of its own.
  const isExpressible = commands.every(({ words }) => !words.some((word) => word.includes("*")));
  const offers = [...further, ...(isExpressible ? [offer(commands.map(wholeOf), true)] : [])];
  if (commands.length === 0)
    return { why: "This line only reads. A rule asks about it, and no other rule is stronger." };
  if (offers.length > 0) return { offers };
  return {
    why: "No rule can allow this line, because a * in a rule stands for any further words, and not for names of files.",
  };
}

/** What a rule names: the words, and the folder if the command does something else in another one. */
type Words = { readonly words: readonly string[]; readonly folder: string };

function whyNoRule({ words, isFed }: PlainCommand): string | null {
  if (isFed && obeysInput(words)) return `${programOf(words)} does what its input says`;
  const isOdd = words.some((word) => word.includes("\n") || (word.includes("'") && word.includes('"')));
  if (isOdd) return "new lines and both kinds of quotes in a word cannot be written in a rule";
  return null;
}

function wholeOf({ words, folder }: PlainCommand): Words {
  const variables = words.slice(0, words.indexOf(programOf(words)));
  const command = commandOf(words);
  return { words: [...variables, ...command], folder: definerOf(command) === null ? "" : folder };
}

/** The beginning of a command that may be followed by any arguments; null if only the whole command may be allowed. */
function beginningOf(command: PlainCommand): Words | null {
  const { words, folder } = wholeOf(command);
  const own = commandOf(words);
  const known = knownCommand(own);
  if (known === null) return null;
  const beginning = words.slice(0, words.length - own.length + known.words.length);
  return allows({ words: beginning, anyFurther: true, folder: null }, { ...command, folder: "" })
    ? { words: beginning, folder }
    : null;
}

function ruleFor(words: readonly string[], folder: string, end: string): string {
  return `shell(${folder === "" ? "" : `cd ${writtenWords([folder])} && `}${writtenWords(words)}${end})`;
}

function said({ words, folder }: Words): string {
  return `"${words.join(" ")}"${folder === "" ? "" : ` in ${folder}`}`;
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

function pathOffers(tool: string, given: string): readonly Offer[] {
  const path = posix.normalize(given).replace(/^\.\//, "");
  if (/^!|[*?{}()]/.test(path) || path === "." || path.startsWith("../"))
    return [{ rules: [tool], says: `${tool} for every path`, mayLast: true }];
  const folder = posix.dirname(path);
  const below =
    folder === "." || folder === "/"
      ? []
      : [{ rules: [`${tool}(${folder}/**)`], says: `${tool} below ${folder}`, mayLast: true }];
  return [{ rules: [`${tool}(${path})`], says: `${tool} for ${path}`, mayLast: true }, ...below];
}

function webOffers(text: string): Offers {
  if (!URL.canParse(text)) return { why: "No rule can allow this, because it is no address." };
  const { host } = new URL(text);
  return { offers: [{ rules: [`fetch_url(${host})`], says: `fetch_url from ${host}`, mayLast: true }] };
}
