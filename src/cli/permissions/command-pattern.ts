/**
 * Rules for commands: words, and at the end perhaps a `*` for any further words.
 *
 * 1. A `*` never counts for a program whose arguments choose what runs, nor for arguments that do so.
 * 2. A pattern that denies is looked for more widely than one that allows: it guards against accidents.
 */
import { basename } from "node:path";
import type { Refuse } from "./rule-text.js";

export type CommandPattern = { readonly words: readonly string[]; readonly anyFurther: boolean };

/** Reads the words of a rule. They may be quoted as on a shell's line. */
export function readCommandPattern(text: string, verdict: "allow" | "ask" | "deny", refuse: Refuse): CommandPattern {
  const [, beginning = text] = /^(.*?)\s\*$/s.exec(text.trim()) ?? [];
  const anyFurther = beginning !== text;
  const words = wordsIn(beginning);
  const [program = ""] = words ?? [];
  if (words === null || program === "" || program === "*") throw refuse("write the words of one command");
  if (words.some((word) => word.includes("*")))
    throw refuse("a * stands alone, after the last word; anywhere else it would be part of a word");
  if (verdict === "allow" && anyFurther && choosesWhatRuns(program))
    throw refuse(
      `the arguments of ${program} choose what runs, so it cannot be allowed with any arguments. Give all words of the command`,
    );
  return { words, anyFurther };
}

/** The words of a text without a shell's marks. Null if a quote is not closed. */
function wordsIn(text: string): readonly string[] | null {
  const words: string[] = [];
  const rest = text.replace(/\s*((?:[^\s'"]|'[^']*'|"[^"]*")+)/gsy, (_, word: string) => {
    words.push(word.replace(/'([^']*)'|"([^"]*)"/gs, (__, single?: string, double?: string) => single ?? double ?? ""));
    return "";
  });
  return rest.trim() === "" && words.length > 0 ? words : null;
}

/** How a rule for exactly these words is written. */
export function writtenWords(words: readonly string[]): string {
  return words
    .map((word) => (/^[^\s'"*()]+$/.test(word) ? word : word.includes("'") ? `"${word}"` : `'${word}'`))
    .join(" ");
}

/** Whether one command, word by word, is what an allowing rule says. */
export function allows({ words, anyFurther }: CommandPattern, command: readonly string[]): boolean {
  if (!words.every((word, at) => word === command[at])) return false;
  const further = command.slice(words.length);
  return further.length === 0 || (anyFurther && !further.some(choosesMore));
}

/**
 * Whether a command that stands somewhere in a line is what a rule denies, or asks about. Options before and between
 * the words do not hide it, and neither does the folder of the program.
 */
export function catches(
  { words: [program = "", ...others], anyFurther }: CommandPattern,
  command: readonly string[],
): boolean {
  const [name = "", ...given] = command;
  if (basename(name) !== basename(program)) return false;
  if (!anyFurther) return others.length === given.length && others.every((word, at) => word === given[at]);
  let at = 0;
  for (const word of others) {
    while (at < given.length && given[at] !== word && (given[at] ?? "").startsWith("-"))
      at += takesValue.test(given[at] ?? "") && given[at + 1] !== word ? 2 : 1;
    if (given[at] !== word) return false;
    at += 1;
  }
  return true;
}

/** Options before a subcommand that have a value of their own: `git -C folder push`. */
const takesValue = /^(-[cCfR]|--(git-dir|work-tree|prefix|config|namespace|context|cwd|dir|directory))$/;

/** Programs whose arguments, or whose own commands, choose what runs. */
const runners: ReadonlySet<string> = new Set(
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

export function choosesWhatRuns(program: string): boolean {
  return (
    program.includes("/") || runners.has(program) || /^(?:python|pypy|ruby|perl|lua|php|node)[\d.]+$/.test(program)
  );
}

/** Long options that choose what runs, what is read as configuration, or what is written. */
const powerful =
  `exec exec-path exec-batch execute config config-env config-file output output-file output-directory outfile
  upload-pack receive-pack ext-diff textconv script-shell shell pager open-files-in-pager editor program command cmd
  eval require import loader preload plugin plugins pre preprocessor hook hooks rsh rcfile init-file
  use-compress-program compress-program to-command checkpoint-action prefix userconfig globalconfig node-options
  git-dir work-tree cwd dir directory makefile file ssh ssh-command`.split(/\s+/);

/**
 * Whether an argument can choose what runs. Programs take the beginnings of long options, too: `--outp` is `--output`.
 */
export function choosesMore(word: string): boolean {
  const [, long] = /^--([^=]+)/.exec(word) ?? [];
  if (long !== undefined) return powerful.some((name) => name.startsWith(long) || long.startsWith(`${name}-`));
  return /^-(?:[cC](?:$|[=/.~])|[oO]|exec|ok|toolexec|vettool|overlay|modfile)/.test(word);
}

/** Commands of a shell that change what later words of its line mean, or where they run. */
export const changesLaterWords: ReadonlySet<string> = new Set(
  `cd pushd popd alias unalias export set unset shopt source . eval exec command builtin enable hash trap read readonly
   declare typeset local let umask ulimit getopts mapfile readarray return break continue shift exit logout wait`.split(
    /\s+/,
  ),
);

/** The programs that a line runs by way of another: `sudo rm x` runs `rm x`, and `sh -c "rm x"`, too. */
export function unwrapped(
  command: readonly string[],
): { readonly inner: readonly string[]; readonly line: string | null } | null {
  const [name = "", ...given] = command;
  const program = basename(name);
  if (shells.has(program)) {
    const at = given.findIndex((word) => /^-[a-z]*c[a-z]*$/.test(word));
    return at === -1 ? null : { inner: [], line: given[at + 1] ?? "" };
  }
  if (program === "eval") return { inner: [], line: given.join(" ") };
  if (!wrappers.has(program)) return null;
  const at = given.findIndex(
    (word) => !word.startsWith("-") && !/^[A-Za-z_]\w*=/.test(word) && !/^\d+[smhd]?$/.test(word),
  );
  return at === -1 ? null : { inner: given.slice(at), line: null };
}

const shells: ReadonlySet<string> = new Set("sh bash dash zsh ksh mksh ash busybox".split(" "));
const wrappers: ReadonlySet<string> = new Set(
  "env sudo doas xargs nohup time timeout nice ionice setsid stdbuf watch command builtin exec busybox parallel strace chroot".split(
    " ",
  ),
);
