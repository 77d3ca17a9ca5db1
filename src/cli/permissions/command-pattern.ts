/**
 * Patterns of rules for commands: words, and optionally a final `*` for any further words.
 *
 * 1. A `*` never covers a program whose arguments choose what runs, nor arguments that do so.
 * 2. A pattern that denies matches more widely than one that allows: it guards against accidents.
 */
import { basename } from "node:path";
import { acceptsOperands, findKnownCommand, isOption, isReadOnlyGit } from "./known-commands.js";
import type { CreateRuleError } from "./rule-types.js";
import type { PlainCommand } from "./shell-line.js";

export type CommandPattern = {
  readonly words: readonly string[];
  readonly anyFurther: boolean;
  /** The folder of the rule, relative to the root: `shell(cd web && npm test)`. Null if the rule names none. */
  readonly folder: string | null;
};

/** Parses the words of a rule. They may be quoted as on a shell's command line. */
export function parseCommandPattern(
  text: string,
  verdict: "allow" | "ask" | "deny",
  createError: CreateRuleError,
): CommandPattern {
  const [, beginning = text] = /^(.*?)\s\*$/s.exec(text.trim()) ?? [];
  const anyFurther = beginning !== text;
  const { folder, words } = splitFolder(splitWords(beginning) ?? [], verdict, createError);
  const program = programOf(words);
  if (program === "" || program === "*") throw createError("write the words of one command");
  if (words.some((word) => word.includes("*")))
    throw createError("a * must be a separate last word; anywhere else it would be part of a word");
  if (verdict === "allow" && anyFurther && runsItsArguments(program))
    throw createError(
      `the arguments of ${program} choose what runs, so it cannot be allowed with any arguments. Give all words of the command`,
    );
  if (verdict !== "allow" && program !== words[0])
    throw createError("only rules that allow can have variables before the command");
  return { words, anyFurther, folder };
}

/** Splits a leading `cd FOLDER &&` from the words. */
function splitFolder(words: readonly string[], verdict: "allow" | "ask" | "deny", createError: CreateRuleError) {
  const [first, folder = "", separator] = words;
  if (first !== "cd" || separator !== "&&") return { folder: null, words };
  if (verdict !== "allow") throw createError("a rule that asks or denies applies in every folder, so leave out the cd");
  if (/^\/|(^|\/)\.{1,2}(\/|$)/.test(folder)) throw createError("cd takes a folder below this one, without . and ..");
  return { folder: folder.replace(/\/$/, ""), words: words.slice(3) };
}

/** The name of the program, after assignments of variables. */
export function programOf(words: readonly string[]): string {
  return words[findProgramIndex(words)] ?? "";
}

function findProgramIndex(words: readonly string[]): number {
  const at = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  return at === -1 ? words.length : at;
}

/** The words of a command without leading assignments, and without Git's `--no-pager`, because Git has no pager here. */
export function commandOf(words: readonly string[]): readonly string[] {
  const own = words.slice(findProgramIndex(words));
  return own[0] === "git" && own[1] === "--no-pager" ? ["git", ...own.slice(2)] : own;
}

/** Splits a string into words and removes the quotes. Null if a quote is not closed. */
function splitWords(text: string): readonly string[] | null {
  const words: string[] = [];
  const rest = text.replace(/\s*((?:[^\s'"]|'[^']*'|"[^"]*")+)/gsy, (_, word: string) => {
    words.push(word.replace(/'([^']*)'|"([^"]*)"/gs, (__, single?: string, double?: string) => single ?? double ?? ""));
    return "";
  });
  return rest.trim() === "" && words.length > 0 ? words : null;
}

/** Formats exactly these words as the pattern of a rule. */
export function quoteWords(words: readonly string[]): string {
  return words
    .map((word) => (/^[^\s'"*()]+$/.test(word) ? word : word.includes("'") ? `"${word}"` : `'${word}'`))
    .join(" ");
}

/** Whether an allowing rule matches a command, word by word. */
export function allowsCommand(pattern: CommandPattern, command: PlainCommand): boolean {
  const variables = command.words.slice(0, findProgramIndex(command.words));
  const words = [...variables, ...commandOf(command.words)];
  const shift = words.length - command.words.length;
  if (!pattern.words.every((word, at) => word === words[at] && !command.patterns.has(at - shift))) return false;
  if (!isInFolder(pattern, command)) return false;
  if (command.isFed && executesInput(words)) return false;
  const further = words.slice(pattern.words.length);
  if (further.length === 0) return true;
  const isPattern = (at: number) => command.patterns.has(at + pattern.words.length - shift);
  return pattern.anyFurther && coversArguments(commandOf(words), further, isPattern);
}

/** A rule without a folder applies in every folder to commands that do the same everywhere. */
function isInFolder({ folder }: CommandPattern, { folder: commandFolder, words }: PlainCommand): boolean {
  return folder === null
    ? commandFolder === "" || explainFolderControl(commandOf(words)) === null
    : folder === commandFolder;
}

/** Whether `*` covers these arguments of a command. */
export function coversArguments(
  command: readonly string[],
  further: readonly string[],
  isPattern: (at: number) => boolean,
): boolean {
  const known = findKnownCommand(command);
  if (known !== null && !acceptsOperands(known, command.slice(known.words.length))) return false;
  if (known?.maxOperands !== undefined && further.some((_, at) => isPattern(at))) return false;
  const end = further.indexOf("--");
  const isEnough = known !== null && known.words.length === 1;
  const hasOptions = known === null || !isEnough || known.never.letters !== "" || known.never.names.length > 0;
  return further.every((word, at) => {
    // A file name may look like an option, so a pattern must begin with another character, unless no option matters.
    if (isPattern(at) && /^[*?[-]/.test(word) && hasOptions && (end === -1 || at < end)) return false;
    if (known !== null && isOption(known.never, word)) return false;
    return isEnough || !isDangerousArgument(word);
  });
}

/**
 * Whether a rule that denies or asks matches a command anywhere in a line. Options before and between the words do not hide
 * it, nor does the folder of the program.
 */
export function matchesCommand(
  { words: [program = "", ...others], anyFurther }: CommandPattern,
  command: readonly string[],
): boolean {
  const [name = "", ...args] = command;
  if (basename(name) !== basename(program)) return false;
  if (!anyFurther) return others.length === args.length && others.every((word, at) => word === args[at]);
  let at = 0;
  for (const word of others) {
    while (at < args.length && args[at] !== word && (args[at] ?? "").startsWith("-"))
      at += canTakeValue(args[at] ?? "", args[at + 1] ?? "") && args[at + 1] !== word ? 2 : 1;
    if (args[at] !== word) return false;
    at += 1;
  }
  return true;
}

/** Any option before a subcommand may have the next word as its value: `git -C folder push`, `npm --loglevel silent publish`. */
function canTakeValue(option: string, next: string): boolean {
  return option !== "--" && !option.includes("=") && !next.startsWith("-");
}

/** Programs whose arguments, or whose own commands, choose what runs. */
const runnerPrograms: ReadonlySet<string> = new Set(
  `sh bash dash zsh ksh mksh fish ash csh tcsh pwsh powershell cmd busybox toybox rbash
   eval source . exec command builtin env xargs parallel sudo doas su runuser ssh scp sftp rsync sshpass
   nohup time timeout nice ionice setsid stdbuf watch entr flock script unshare nsenter chroot chrt taskset strace ltrace gdb
   find fd awk gawk mawk nawk sed ed ex vi vim nvim view emacs nano less more most man info lynx w3m
   perl python python2 python3 pypy ruby irb lua php node nodejs deno bun tsx ts-node java jshell groovy scala
   Rscript R julia ghci runghc runhaskell erl elixir iex swift osascript tclsh expect guile racket sbcl clisp octave
   npx pnpx bunx uvx pipx npm-exec corepack make gmake cmake ninja just rake gradle mvn ant bazel buck scons meson
   docker podman nerdctl kubectl helm terraform ansible ansible-playbook vagrant nix nix-shell nix-build systemd-run
   tar zip unzip rar 7z cpio dd install mount crontab at batch systemctl service
   curl wget nc ncat netcat socat telnet openssl gpg screen tmux dtach git-shell m4 bc dc sqlite3 psql mysql
   test [ printf wait kill trap hash fc jobs bind complete compgen compopt`.split(/\s+/),
);

/** The runner programs whose standard input is data. */
const dataFilters: ReadonlySet<string> = new Set(
  "sed awk gawk mawk nawk less more most test [ printf curl wget".split(" "),
);

/** Whether a command executes its input: `… | sh`, `… | xargs rm`. No rule about its words can cover such input. */
export function executesInput(words: readonly string[]): boolean {
  const [program = "", subcommand = ""] = commandOf(words);
  const name = basename(program);
  if (name === "git") return /^(apply|am|fast-import|hash-object|update-index|update-ref)$/.test(subcommand);
  return name === "patch" || (runsItsArguments(name) && !dataFilters.has(name));
}

export function runsItsArguments(program: string): boolean {
  return (
    program.includes("/") ||
    runnerPrograms.has(program) ||
    /^(?:python|pypy|ruby|perl|lua|php|node)[\d.]+$/.test(program)
  );
}

/** Long options that choose what runs, what is read as configuration, or what is written. */
const dangerousOptions =
  `exec exec-path exec-batch execute config config-env config-file output output-file output-directory outfile
  upload-pack receive-pack ext-diff textconv script-shell shell pager open-files-in-pager editor program command cmd
  eval require import loader preload plugin plugins pre preprocessor hook hooks rsh rcfile init-file
  use-compress-program compress-program to-command checkpoint-action prefix userconfig globalconfig node-options
  git-dir work-tree cwd dir directory makefile file ssh ssh-command`.split(/\s+/);

/**
 * Whether an argument can choose what runs. Programs also accept prefixes of long options: `--outp` is `--output`.
 */
export function isDangerousArgument(word: string): boolean {
  const [, long] = /^--([^=]+)/.exec(word) ?? [];
  if (long !== undefined) return dangerousOptions.some((name) => name.startsWith(long) || long.startsWith(`${name}-`));
  return /^-(?:[cC](?:$|[=/.~])|[oO]|exec|ok|toolexec|vettool|overlay|modfile)/.test(word);
}

/** Explains how files of the folder decide what a command runs, so that an agent that can write them decides it; null if none do. */
export function explainFolderControl(words: readonly string[]): string | null {
  const [program = "", subcommand = ""] = words;
  const commandText = words.slice(0, 2).join(" ");
  if (program === "git" && !isReadOnlyGit(words) && !/^--?(version|help)$/.test(subcommand))
    return `${commandText} may run programs that the repository's configuration names, such as hooks and filters.`;
  // For a dependency from Git, `npm view` and `npm outdated` run the program that .npmrc names.
  if (/^(pnpm|yarn|bun)$/.test(program) || (program === "npm" && !/^(ls|list|why|-v|--version)$/.test(subcommand)))
    return `${commandText} runs what package.json and the settings of the folder say.`;
  if (/^(make|gmake|ninja|just|rake|cmake|task)$/.test(program))
    return `${program} runs what the folder's own files say.`;
  if (
    /^(cargo|go|gradle|mvn|dotnet|mix|bundle|composer|poetry|uv|pytest|tox|nox|jest|vitest|mocha|ant|bazel|tsc|eslint)$/.test(
      program,
    )
  )
    return `${commandText} runs code of the folder.`;
  if (program.includes("/")) return `${program} is a program that the agent can write.`;
  if (runsItsArguments(program) && words.length > 1)
    return `${program} runs what its arguments say, which may be a file that the agent can write.`;
  return null;
}
