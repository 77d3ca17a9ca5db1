/**
 * The commands whose options Pawl knows. Only these are offered with any arguments, and only these can run without a question.
 *
 * Each option in this list was tried: test/cli/permissions/corpus shows its effects.
 */
import { basename } from "node:path";

export type KnownCommand = {
  /** The first words of a rule that covers any arguments. */
  readonly words: readonly string[];
  /** Options that run programs, write files, or read settings. No rule for any arguments covers them. */
  readonly never: OptionSet;
  /** The maximum number of operands, because a further one would be a file to write. Absent: any number. */
  readonly maxOperands?: number;
  /** The pattern of each operand, because another operand would change something. */
  readonly operand?: RegExp;
  /** Present if the command only reads, so that it can run without a question. */
  readonly reads?: {
    /** `names`: the files that its arguments name. `nothing`: no file. `below`: everything below a folder or in the repository. */
    readonly what: "names" | "nothing" | "below";
    /** Options with which it reads files that no argument names: lists of names, and links. */
    readonly strays: OptionSet;
    /** Options with which it reads everything below a folder. */
    readonly below: OptionSet;
    /** Whether it follows links in the folders that its arguments name. */
    readonly followsLinks: boolean;
  };
};

type OptionSet = { readonly letters: string; readonly names: readonly string[] };

function parseOptions(text: string): OptionSet {
  const words = text.split(" ").filter((word) => word !== "");
  return {
    letters: words.flatMap((word) => (/^-[^-]$/.test(word) ? [word.slice(1)] : [])).join(""),
    names: words.flatMap((word) => (word.startsWith("--") ? [word.slice(2)] : [])),
  };
}

/** Whether a word is one of the options, including in a cluster (`-rno`) or as a prefix of its name (`--outp`). */
export function isOption({ letters, names }: OptionSet, word: string): boolean {
  const [, name] = /^--([^=]+)/.exec(word) ?? [];
  if (name !== undefined) return names.some((one) => one.startsWith(name) || name.startsWith(`${one}-`));
  return /^-[^-]/.test(word) && [...word.slice(1)].some((letter) => letters.includes(letter));
}

type Details = {
  readonly never?: string;
  readonly strays?: string;
  readonly below?: string;
  readonly followsLinks?: boolean;
} & Pick<KnownCommand, "maxOperands" | "operand">;

function readingCommands(
  what: "names" | "nothing" | "below",
  commands: string,
  { never = "", strays = "", below = "", followsLinks = false, ...operands }: Details = {},
): readonly KnownCommand[] {
  return commands.split(", ").map((command) => ({
    words: command.split(" "),
    never: parseOptions(never),
    ...operands,
    reads: { what, strays: parseOptions(strays), below: parseOptions(below), followsLinks },
  }));
}

function otherCommands(commands: string, never: string): readonly KnownCommand[] {
  return commands.split(", ").map((command) => ({ words: command.split(" "), never: parseOptions(never) }));
}

const gitNever =
  "--output --ext-diff --textconv --show-signature --submodule --recurse-submodules --ignore-submodules " +
  // Merges are repeated, with the merge drivers that are configured.
  "--remerge-diff --diff-merges " +
  // The viewer of manuals is also configurable.
  "--help";
const npmNever =
  "-C -c --prefix --script-shell --shell --node-options --userconfig --globalconfig --globalignorefile --git --editor " +
  "--viewer --browser --call --package --init-module --node-gyp --cache --global --location";

const knownCommands: readonly KnownCommand[] = [
  ...readingCommands("nothing", "echo, pwd, true, false, sleep, seq, tr, basename, dirname, uname, whoami, which"),
  ...readingCommands("nothing", "date", { never: "-s --set", operand: /^\+/, strays: "-f --file -r --reference" }),
  ...readingCommands(
    "names",
    "cat, tac, nl, rev, head, tail, od, hexdump, cut, paste, join, comm, cmp, fold, expand, column, stat, realpath, readlink",
  ),
  ...readingCommands("names", "md5sum, sha1sum, sha256sum", { strays: "-c --check" }),
  ...readingCommands("names", "wc", { strays: "--files0-from" }),
  ...readingCommands("names", "ls", { strays: "-L --dereference", below: "-R --recursive" }),
  ...readingCommands("names", "grep, egrep, fgrep", {
    strays: "-R --dereference-recursive",
    below: "-r --recursive -d --directories",
  }),
  ...readingCommands("names", "sort", {
    never: "-o --output -T --temporary-directory --compress-program",
    strays: "--files0-from",
  }),
  ...readingCommands("names", "uniq, xxd", { maxOperands: 1 }),
  ...readingCommands("names", "file", {
    never: "-C --compile -z --uncompress -Z --uncompress-noreport -m --magic-file",
    strays: "-f --files-from -L --dereference",
  }),
  ...readingCommands("names", "diff", { never: "-l --paginate", strays: "-r --recursive", followsLinks: true }),
  ...readingCommands("below", "du", { strays: "--files0-from -L --dereference" }),
  ...readingCommands("below", "rg", {
    never: "-z --pre --pre-glob --search-zip --hostname-bin",
    strays: "-L --follow",
  }),
  // Given twice, -v shows the changes.
  ...readingCommands("names", "git status", { never: gitNever, below: "-v --verbose" }),
  ...readingCommands("names", "git ls-files, git rev-parse, git describe", { never: gitNever }),
  ...readingCommands("below", "git log, git diff, git show, git blame, git shortlog", { never: gitNever }),
  ...readingCommands("below", "git grep", { never: `-O --open-files-in-pager ${gitNever}` }),
  ...otherCommands("mkdir, touch, jq", ""),
  ...otherCommands("git add", "-e -i -p --edit --interactive --patch"),
  ...otherCommands("git commit", "-e -p -t --edit --interactive --patch --template"),
  ...otherCommands("npm test, npm t, npm start, npm run *, npm run-script *", npmNever),
  ...otherCommands("npm ls, npm list", npmNever),
  ...otherCommands("cargo build, cargo check, cargo test", "-C -Z --config --manifest-path --target-dir"),
];

/** Commands that only read if they have exactly these words. */
const exactCommands: ReadonlySet<string> = new Set([
  ...["git branch", "git branch -a", "git branch -r", "git branch -v", "git branch -vv", "git branch --show-current"],
  ...["git tag", "git tag -l", "git tag --list", "git remote", "git remote -v", "git stash list", "git worktree list"],
  ...["git --version", "node --version", "node -v", "npm --version", "npm -v", "cargo --version", "python3 --version"],
]);

/** The names that can be allowed to run without a question: programs, and subcommands of Git. */
export const readingNames: readonly string[] = [
  ...knownCommands.filter(({ reads }) => reads !== undefined).map(({ words }) => words.join(" ")),
  ...["find", "sed -n"],
  ...exactCommands,
];

/** Finds the known command that these words call; null if its options are not known. */
export function findKnownCommand(args: readonly string[]): KnownCommand | null {
  const command = knownCommands.find(({ words }) => words.every((word, at) => matchesWord(word, args[at])));
  if (command === undefined) return null;
  return { ...command, words: command.words.map((_, at) => args[at] ?? "") };
}

function matchesWord(word: string, arg: string | undefined): boolean {
  return word === "*" ? arg !== undefined && /^[a-z][\w:.-]*$/i.test(arg) : word === arg;
}

/** Whether the operands among the arguments are permitted. */
export function acceptsOperands(
  { maxOperands = Infinity, operand }: Pick<KnownCommand, "maxOperands" | "operand">,
  args: readonly string[],
): boolean {
  const end = args.indexOf("--");
  const operands = args.filter((word, at) => !word.startsWith("-") || word === "-" || (end !== -1 && at > end));
  return operands.length <= maxOperands && operands.every((word) => operand?.test(word) !== false);
}

/** Whether these exact words are a command that only reads. */
export function isExactReadCommand(words: readonly string[]): boolean {
  return exactCommands.has(words.join(" "));
}

/** Whether the words call Git with a subcommand that only reads. */
export function isReadOnlyGit(words: readonly string[]): boolean {
  const [program = "", subcommand = ""] = words;
  if (basename(program) !== "git") return false;
  return /^(branch|tag|remote|stash|worktree)$/.test(subcommand)
    ? isExactReadCommand(["git", ...words.slice(1)])
    : findKnownCommand(["git", ...words.slice(1)])?.reads !== undefined;
}

/** The options with which `find` only lists names. */
const plainFindOptions =
  /^-(name|iname|path|ipath|wholename|regex|iregex|type|maxdepth|mindepth|size|empty|mtime|mmin|newer|perm|user|print|print0|ls|prune|depth|not|a|and|o|or|xdev)$/;

export function isPlainFind(args: readonly string[]): boolean {
  return args.every((word) => !word.startsWith("-") || plainFindOptions.test(word));
}

/** Whether `sed` only prints lines by their numbers: `sed -n 5,20p`. */
export function isPlainSed([option = "", script = "", ...files]: readonly string[]): boolean {
  return option === "-n" && /^(\d+|\$)(,(\d+|\$))?p$/.test(script) && !files.some((word) => word.startsWith("-"));
}
