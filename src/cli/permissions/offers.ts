/**
 * The rules that a person is offered when a call asks: the narrowest ones that spare them the next question.
 */
import { posix } from "node:path";
import type { Json } from "../../index.js";
import { choosesMore, choosesWhatRuns, writtenWords } from "./command-pattern.js";
import { isPathTool, pathOfCall } from "./rule.js";
import { readShellLine } from "./shell-line.js";

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
  return { offers: [{ rules: [name], says: `${name}, whatever its input is`, mayLast: true }] };
}

function textIn(input: Json, field: string): string {
  const value = (input as { readonly [name: string]: Json } | null)?.[field];
  return typeof value === "string" ? value : "";
}

async function shellOffers(line: string, { isSandboxed, platform = process.platform }: OfferOptions): Promise<Offers> {
  const read = await readShellLine(line);
  if (!read.ok) return { why: `No rule can allow this line, because ${read.why}.` };
  const commands = [...new Map(read.commands.map((command) => [JSON.stringify(command), command])).values()];
  if (commands.some((words) => words.some((word) => /[*\n]/.test(word) || (word.includes("'") && word.includes('"')))))
    return { why: "No rule can allow this line, because of the characters * and new lines in its words." };
  const definers = [...new Set(commands.flatMap((words) => definerOf(words) ?? []))];
  const note = definers.length === 0 ? {} : { note: definers.join(" ") };
  const mayLast = definers.length === 0 || isSandboxed;
  const exactly = {
    rules: commands.map((words) => `shell(${writtenWords(words)})`),
    says: `${saidCommands(commands)}, exactly this`,
    mayLast,
    ...note,
  };
  const prefixes = commands.map(prefixOf);
  const mayHaveMore = platform !== "win32" && prefixes.every((prefix) => prefix !== null);
  if (!mayHaveMore) return { offers: [exactly] };
  const beginnings = [...new Map(prefixes.map((prefix) => [JSON.stringify(prefix), prefix ?? []])).values()];
  const further = {
    rules: beginnings.map((words) => `shell(${writtenWords(words)} *)`),
    says: `${saidCommands(beginnings)} with any arguments`,
    mayLast,
    ...note,
  };
  return { offers: [further, exactly] };
}

function saidCommands(commands: readonly (readonly string[])[]): string {
  return `shell ${commands.map((words) => `"${words.join(" ")}"`).join(" and ")}`;
}

/** Programs whose first word behind them says what they do. */
const withSubcommands: ReadonlySet<string> = new Set(
  "git npm pnpm yarn cargo go gh dotnet pip pip3 poetry uv brew apt apt-cache systemd-analyze svn hg jj conda mix rustup composer bundle gem".split(
    " ",
  ),
);
/** Subcommands behind which another word says what runs. */
const withScript: ReadonlySet<string> = new Set(["run", "run-script", "exec", "x", "dlx", "tool"]);
/** Programs that change or delete what their arguments name. */
const changing: ReadonlySet<string> = new Set(
  "rm rmdir mv cp ln dd tee truncate chmod chown kill pkill killall shred".split(" "),
);
/** Words that change much, or send something away. */
const farReaching: ReadonlySet<string> = new Set(
  "push publish reset clean rebase filter-branch config remote exec x dlx install add remove uninstall login release secret auth api alias".split(
    " ",
  ),
);

/** The beginning of a command that may be followed by any arguments; null if only the whole command may be allowed. */
function prefixOf(words: readonly string[]): readonly string[] | null {
  const [program = "", subcommand = "", script = ""] = words;
  if (choosesWhatRuns(program) || changing.has(program)) return null;
  const isWord = (word: string) => /^[a-z][\w:.-]*$/i.test(word);
  let length = 1;
  if (withSubcommands.has(program)) {
    if (!isWord(subcommand) || farReaching.has(subcommand)) return null;
    length = 2;
    if (withScript.has(subcommand)) {
      if (!isWord(script)) return null;
      length = 3;
    }
  }
  return words.slice(length).some(choosesMore) ? null : words.slice(0, length);
}

/** What a file of the folder defines, so that an agent who may write that file chooses what runs. */
function definerOf(words: readonly string[]): string | null {
  const [program = "", subcommand = ""] = words;
  const said = words.slice(0, 2).join(" ");
  if (/^(npm|pnpm|yarn|bun)$/.test(program) && !/^(ls|list|view|info|outdated|why|audit|config|help)$/.test(subcommand))
    return `${said} runs what package.json says.`;
  if (/^(make|gmake|ninja|just|rake|cmake|task)$/.test(program))
    return `${program} runs what the folder's own files say.`;
  if (
    /^(cargo|go|gradle|mvn|dotnet|mix|bundle|composer|poetry|uv|pytest|tox|nox|jest|vitest|mocha|ant|bazel|tsc|eslint)$/.test(
      program,
    )
  )
    return `${said} runs code of the folder.`;
  if (program.includes("/")) return `${program} is a program that the agent can write.`;
  if (choosesWhatRuns(program) && words.length > 1)
    return `${program} runs what its arguments say, which may be a file that the agent can write.`;
  return null;
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
